// What Python sees of the box search.
#include "../kernels.hpp"
#include "../python.hpp"
#include "search.hpp"

namespace cfxc::box_search {
namespace {

#define READ(name) read(#name, to.name)

Ramps ramps_of(nb::handle given) {
    Fields read{given};
    Ramps to;
    READ(first);
    READ(feature);
    READ(factor);
    READ(noise);
    READ(center);
    READ(size);
    READ(flat);
    READ(slope);
    READ(square);
    READ(top);
    return to;
}

Tables tables_of(nb::handle given) {
    Fields read{given};
    Tables to;
    READ(start);
    READ(symbolic);
    READ(home);
    READ(added);
    READ(peak);
    READ(point);
    READ(least);
    READ(largest);
    READ(first_word);
    READ(first_tree);
    READ(tree);
    READ(high);
    READ(low);
    READ(value);
    READ(need_high);
    READ(need_low);
    READ(need);
    READ(slack);
    READ(shift);
    READ(condition);
    READ(feature);
    READ(first);
    READ(last);
    READ(labels);
    READ(cheapest);
    READ(stride);
    READ(block);
    READ(begins);
    READ(beginning);
    READ(ends);
    READ(ending);
    READ(upto);
    READ(since);
    READ(full);
    READ(whole);
    READ(rung);
    READ(rung_cell);
    READ(ladder);
    READ(ladder_of);
    READ(first_ladder);
    to.ramps = ramps_of(nb::getattr(given, "ramps"));
    return to;
}

Logic logic_of(nb::handle given) {
    Fields read{given};
    Logic to;
    READ(kind);
    READ(start);
    READ(operand);
    READ(factor);
    READ(low);
    READ(high);
    READ(what);
    READ(code);
    READ(used);
    READ(counted);
    READ(cap);
    return to;
}

State state_of(nb::handle given) {
    Fields read{given};
    State to;
    READ(control);
    READ(first);
    READ(last);
    READ(reach);
    READ(phase);
    READ(forced);
    READ(box);
    READ(cut);
    READ(point);
    READ(holding);
    READ(side);
    READ(current);
    READ(most);
    READ(now);
    READ(weight);
    READ(touched);
    READ(chosen);
    READ(single);
    READ(lower);
    READ(upper);
    READ(more);
    READ(between);
    READ(weights);
    READ(heir);
    READ(tightest);
    READ(multiplier);
    READ(density);
    READ(price);
    READ(top);
    READ(excess);
    READ(last_multiplier);
    READ(within);
    READ(aim);
    READ(beyond);
    READ(trial);
    auto labels = nb::cast<Array<u64, nb::ndim<3>>>(nb::getattr(given, "labels"), false);
    to.labels = labels.data();
    to.label_words = static_cast<i64>(labels.shape(2));
    return to;
}

Log log_of(nb::handle given) {
    Fields read{given};
    Log to;
    READ(parent);
    READ(side);
    READ(fate);
    READ(what);
    READ(where);
    READ(radius);
    return to;
}
#undef READ

// For each cell the slots of the conditions that begin (or end) there, cell by cell.
struct Lists {
    std::vector<i64> at, slots;

    template <class Each>
    Lists(i64 cells, Each each) : at(cells + 2) {
        each([this](i64 cell, i64) { ++at[cell + 2]; });
        for (i64 c = 2; c < cells + 2; ++c) at[c] += at[c - 1];
        slots.resize(at[cells + 1]);
        each([this](i64 cell, i64 slot) { slots[at[cell + 1]++] = slot; });
        at.pop_back();
    }
};

// The rows of rows.hpp for numbers and labels, with a stride that leaves about `room` words of
// them.
auto cell_rows(const Line<const i64>& starts, const Line<const bool>& is_symbolic,
               const Line<const i64>& slots, const Line<const i64>& conditions,
               const Line<const i64>& features, const Line<const i64>& firsts,
               const Line<const i64>& lasts, const Table<const u64>& label_sets,
               const Line<const u64>& all, i64 room) {
    auto start = view(starts), slot = view(slots), condition = view(conditions),
         feature = view(features), first = view(firsts), last = view(lasts);
    auto symbolic = view(is_symbolic);
    auto labels = view(label_sets);
    auto full = view(all);
    const i64 cells = start[start.size - 1], words = full.size;
    auto size = [&](i64 j) { return start[j + 1] - start[j]; };
    const i64 stride = 1 + 2 * cells * words / room;
    std::vector<i64> block{0};
    for (i64 j = 0; j < symbolic.size; ++j)
        block.push_back(block.back() +
                        (symbolic[j] ? size(j) : (size(j) + stride - 2) / stride + 1));
    auto numbers = [&](auto each) {
        for (i64 s : slot)
            for (i64 i = condition[s]; i < condition[s + 1]; ++i)
                if (!symbolic[feature[i]]) each(feature[i], i, s);
    };
    Lists begins(cells, [&](auto note) {
        numbers([&](i64 j, i64 i, i64 s) {
            if (first[i] > 0) note(start[j] + first[i], s);
        });
    });
    Lists ends(cells, [&](auto note) {
        numbers([&](i64 j, i64 i, i64 s) {
            if (last[i] + 1 < size(j)) note(start[j] + larger(last[i], i64{0}), s);
        });
    });
    const i64 rows = block.back();
    std::vector<u64> upto(rows * words), since(rows * words);
    for (i64 r = 0; r < rows; ++r) std::copy_n(full.data, words, upto.data() + r * words);
    auto clear = [](u64* row, const Lists& of, i64 from, i64 to) {
        for (i64 i = of.at[from]; i < of.at[to]; ++i) row[of.slots[i] / 64] &= ~bit_of(of.slots[i]);
    };
    for (i64 j = 0; j < symbolic.size; ++j) {
        if (symbolic[j]) continue;
        const i64 most = size(j) - 1, begin = start[j];
        auto cell = [&](i64 row) { return begin + smaller((row - block[j]) * stride, most); };
        for (i64 r = block[j + 1] - 2; r >= block[j]; --r) {
            std::copy_n(upto.data() + (r + 1) * words, words, upto.data() + r * words);
            clear(upto.data() + r * words, begins, cell(r) + 1, cell(r + 1) + 1);
        }
        std::copy_n(full.data, words, since.data() + block[j] * words);
        for (i64 r = block[j] + 1; r < block[j + 1]; ++r) {
            std::copy_n(since.data() + (r - 1) * words, words, since.data() + r * words);
            clear(since.data() + r * words, ends, cell(r - 1), cell(r));
        }
    }
    for (i64 s : slot)
        for (i64 i = condition[s]; i < condition[s + 1]; ++i)
            if (const i64 j = feature[i]; symbolic[j])
                for (i64 code = 0; code < size(j); ++code)
                    if (!has(labels[i], code))
                        upto[(block[j] + code) * words + s / 64] &= ~bit_of(s);
    const auto height = static_cast<std::size_t>(rows), width = static_cast<std::size_t>(words);
    return std::make_tuple(stride, owned(std::move(block)), owned(std::move(begins.at)),
                           owned(std::move(begins.slots)), owned(std::move(ends.at)),
                           owned(std::move(ends.slots)), owned(std::move(upto), {height, width}),
                           owned(std::move(since), {height, width}));
}

// The rungs of conditions on each tree's ladders: see ladders.hpp.
auto ladders(const Line<const i64>& starts, const Line<const bool>& in_one,
             const Line<const i64>& homes, const Line<const i64>& first_words,
             const Line<const i64>& conditions, const Line<const i64>& features,
             const Line<const i64>& firsts, const Line<const i64>& lasts) {
    auto start = view(starts), home = view(homes), first_word = view(first_words),
         condition = view(conditions), feature = view(features), first = view(firsts),
         last = view(lasts);
    auto whole = view(in_one);
    std::vector<i64> rung(feature.size, -1), cell, ladder{0}, of, first_ladder{0};
    struct Key {
        i64 ladder, away, cell, condition;
        auto operator<=>(const Key&) const = default;
    };
    std::vector<Key> keys;
    for (i64 tree = 0; tree + 1 < first_word.size; ++tree) {
        keys.clear();
        for (i64 i = condition[64 * first_word[tree]]; i < condition[64 * first_word[tree + 1]];
             ++i) {
            const i64 j = feature[i];
            if (whole[j])
                keys.push_back({2 * j, 0, start[j], i});
            else if (first[i] > home[j])
                keys.push_back({2 * j, first[i] - home[j], start[j] + first[i], i});
            else if (last[i] < home[j])
                keys.push_back({2 * j + 1, home[j] - last[i], start[j] + last[i], i});
        }
        std::sort(keys.begin(), keys.end());
        for (std::size_t n = 0; n < keys.size(); ++n) {
            const bool other = n == 0 || keys[n].ladder != keys[n - 1].ladder;
            if (other && n) ladder.push_back(static_cast<i64>(cell.size()));
            if (other) of.push_back(keys[n].ladder);
            if (other || keys[n].away != keys[n - 1].away) cell.push_back(keys[n].cell);
            rung[keys[n].condition] = static_cast<i64>(cell.size()) - 1;
        }
        if (!keys.empty()) ladder.push_back(static_cast<i64>(cell.size()));
        first_ladder.push_back(static_cast<i64>(of.size()));
    }
    return std::make_tuple(owned(std::move(rung)), owned(std::move(cell)), owned(std::move(ladder)),
                           owned(std::move(of)), owned(std::move(first_ladder)));
}

int run_from_python(nb::handle tables, nb::handle logic, nb::handle state, nb::handle log) {
    const auto t = tables_of(tables);
    const auto l = logic_of(logic);
    const auto s = state_of(state);
    const auto g = log_of(log);
    nb::gil_scoped_release released;
    return run(t, l, s, g);
}

void retrace_from_python(nb::handle tables, nb::handle logic, nb::handle state,
                         const Table<const i64>& cuts, const Line<const std::int8_t>& sides,
                         const Line<const i64>& radii) {
    retrace(tables_of(tables), logic_of(logic), state_of(state), view(cuts), view(sides),
            view(radii));
}

bool hand_over_from_python(nb::handle tables, nb::handle state, i64 d, nb::handle other) {
    return hand_over(tables_of(tables), state_of(state), d, state_of(other));
}

}  // namespace
}  // namespace cfxc::box_search

void cfxc::add_box_search(nb::module_& module) {
    using namespace box_search;
    module.def("cell_rows", &cell_rows);
    module.def("ladders", &ladders);
    module.def("run", &run_from_python);
    module.def("retrace", &retrace_from_python);
    module.def("hand_over", &hand_over_from_python);
}
