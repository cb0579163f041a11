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
    READ(upto);
    READ(since);
    READ(full);
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
    READ(current);
    READ(most);
    READ(now);
    READ(weight);
    READ(touched);
    READ(share);
    READ(shared);
    READ(chosen);
    READ(multiplier);
    READ(single);
    READ(lower);
    READ(upper);
    READ(more);
    READ(between);
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

// The rows `upto` and `since` of tables.py: all leaves, without those that end before or start
// after.
auto cell_rows(const Line<const i64>& starts, const Line<const bool>& is_symbolic,
               const Line<const i64>& slots, const Line<const i64>& conditions,
               const Line<const i64>& features, const Line<const i64>& firsts,
               const Line<const i64>& lasts, const Table<const u64>& label_sets,
               const Line<const u64>& all) {
    auto start = view(starts), slot = view(slots), condition = view(conditions),
         feature = view(features), first = view(firsts), last = view(lasts);
    auto symbolic = view(is_symbolic);
    auto labels = view(label_sets);
    auto full = view(all);
    const i64 cells = start[start.size - 1], words = full.size;
    std::vector<u64> upto(cells * words), since(cells * words);
    for (i64 c = 0; c < cells; ++c) {
        std::copy_n(full.data, words, upto.data() + c * words);
        std::copy_n(full.data, words, since.data() + c * words);
    }
    for (i64 s : slot) {
        const i64 word = s / 64;
        for (i64 i = condition[s]; i < condition[s + 1]; ++i) {
            const i64 begin = start[feature[i]], end = start[feature[i] + 1];
            if (symbolic[feature[i]]) {
                for (i64 code = 0; code < end - begin; ++code)
                    if (!has(labels[i], code)) upto[(begin + code) * words + word] &= ~bit_of(s);
            } else {
                if (first[i] > 0) upto[(begin + first[i] - 1) * words + word] &= ~bit_of(s);
                if (last[i] + 1 < end - begin)
                    since[(begin + last[i] + 1) * words + word] &= ~bit_of(s);
            }
        }
    }
    for (i64 j = 0; j < symbolic.size; ++j) {
        if (symbolic[j]) continue;
        for (i64 c = start[j + 1] - 2; c >= start[j]; --c)
            meet(upto.data() + c * words, upto.data() + (c + 1) * words, words);
        for (i64 c = start[j] + 1; c < start[j + 1]; ++c)
            meet(since.data() + c * words, since.data() + (c - 1) * words, words);
    }
    const auto rows = static_cast<std::size_t>(cells), width = static_cast<std::size_t>(words);
    return std::make_tuple(owned(std::move(upto), {rows, width}),
                           owned(std::move(since), {rows, width}));
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
    module.def("run", &run_from_python);
    module.def("retrace", &retrace_from_python);
    module.def("hand_over", &hand_over_from_python);
}
