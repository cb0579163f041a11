// Depth-first walks of trees within a ball around the factual: the leaves that it can reach, as
// leaves.py says, and the trees without the nodes that it cannot, as prune.py says.
//
// A walk carries the box of the path; the box is undone on the way up, from what each open split
// overwrote.
#include "kernels.hpp"
#include "python.hpp"

namespace cfxc {
namespace {

struct Walk {
    Vector<const i64> roots, left, right, feature;
    Vector<const double> cut;
    Vector<const bool> below;
    Matrix<const u64> mask;
    Vector<const double> center, lower, upper, scale, weight, peak;
    Matrix<const double> step;
    Vector<const double> norm;
    Matrix<const i64> cheapest;
    Vector<const bool> symbolic;
    Matrix<const u64> admissible;

    explicit Walk(nb::handle given) {
        Fields read{given};
#define READ(name) read(#name, name)
        READ(roots);
        READ(left);
        READ(right);
        READ(feature);
        READ(cut);
        READ(below);
        READ(mask);
        READ(center);
        READ(lower);
        READ(upper);
        READ(scale);
        READ(weight);
        READ(peak);
        READ(step);
        READ(norm);
        READ(cheapest);
        READ(symbolic);
        READ(admissible);
#undef READ
    }

    // What a change of δ adds to the parts of the distance in sum.
    double added(i64 j, double delta) const {
        return delta > 0.0 ? weight[j] * (norm[0] + delta * (norm[1] + norm[3] * delta)) : 0.0;
    }
};

enum Side { NOTHING, ALL, PART };

// The box of the path, and what its points cost at least.
class Box {
  public:
    explicit Box(const Walk& walk)
        : w_(walk), words_(walk.mask.columns), low_(walk.lower.begin(), walk.lower.end()),
          high_(walk.upper.begin(), walk.upper.end()),
          allowed_(walk.admissible.data, walk.admissible[walk.center.size]),
          above(walk.center.size, -INF), upto(walk.center.size, INF), delta_(walk.center.size) {
        for (i64 j = 0; j < walk.center.size; ++j) delta_[j] = delta(j);
        for (i64 j = 0; j < walk.center.size; ++j) total_ += walk.added(j, delta_[j]);
    }

    const u64* allowed(i64 j) const { return allowed_.data() + j * words_; }

    void save(i64 level, i64 j) {
        if (level == static_cast<i64>(saved_.size())) {
            saved_.resize(2 * level + 64);
            saved_sets_.resize(saved_.size() * words_);
        }
        saved_[level] = {low_[j], high_[j], delta_[j], above[j], upto[j], total_};
        std::copy_n(allowed(j), words_, saved_sets_.data() + level * words_);
    }
    void restore(i64 level, i64 j) {
        const Saved& old = saved_[level];
        low_[j] = old.low;
        high_[j] = old.high;
        delta_[j] = old.delta;
        above[j] = old.above;
        upto[j] = old.upto;
        total_ = old.total;
        std::copy_n(saved_sets_.data() + level * words_, words_, allowed_.data() + j * words_);
    }

    Side enter(i64 node, i64 j, bool goes_left);

    // Whether it meets the ball, after feature j was narrowed.
    bool meets(i64 j) {
        const double before = delta_[j];
        delta_[j] = delta(j);
        if (delta_[j] > before) total_ += w_.added(j, delta_[j]) - w_.added(j, before);
        double distance = total_;
        if (w_.norm[2] > 0.0) distance += w_.norm[2] * largest();
        return distance <= w_.norm[4];
    }

  private:
    struct Saved {
        double low, high, delta, above, upto, total;
    };

    double delta(i64 j) const;

    double largest() const {
        double most = -INF;
        for (i64 j = 0; j < w_.center.size; ++j) {
            const double here = w_.peak[j] * delta_[j];
            if (std::isnan(here)) return here;
            most = larger(most, here);
        }
        return most;
    }

    const Walk& w_;
    i64 words_;
    std::vector<double> low_, high_;
    std::vector<u64> allowed_;

  public:
    std::vector<double> above, upto;  // the cuts that bound it

  private:
    std::vector<double> delta_;
    double total_ = 0.0;
    std::vector<Saved> saved_;
    std::vector<u64> saved_sets_;
};

// Narrow feature j to one side of a split: nothing is left of it, all of it, or a part.
Side Box::enter(i64 node, i64 j, bool goes_left) {
    const double cut = w_.cut[node];
    if (!std::isnan(cut)) {
        bool narrower = false;
        if (goes_left == w_.below[node]) {
            if (cut < high_[j]) {
                high_[j] = upto[j] = cut;
                narrower = true;
            }
        } else if (cut >= low_[j]) {
            low_[j] = std::nextafter(cut, INF);
            above[j] = cut;
            narrower = true;
        }
        return low_[j] > high_[j] ? NOTHING : narrower ? PART : ALL;
    }
    bool any = false, fewer = false;
    for (i64 w = 0; w < words_; ++w) {
        u64& set = allowed_[j * words_ + w];
        const u64 kept = set & (goes_left ? w_.mask(node, w) : ~w_.mask(node, w));
        fewer |= kept != set;
        any |= kept != 0;
        set = kept;
    }
    return !any ? NOTHING : fewer ? PART : ALL;
}

// Lower bound of δ_j over the box: 0 inside, else the distance to its near end, 1 at most: so far
// is a missing number, wherever below the range it stands.
double Box::delta(i64 j) const {
    if (w_.symbolic[j]) {
        for (i64 rank = 0; rank < w_.step.columns; ++rank) {
            const i64 code = w_.cheapest(j, rank);
            if (has(allowed(j), code)) return w_.step(j, code);
        }
        return INF;
    }
    const double away = larger(low_[j] - w_.center[j], w_.center[j] - high_[j]);
    return std::min(1.0, larger(0.0, away) * w_.scale[j]);
}

// A node on the path; phase 0 is to go left next, 1 right, 2 back.
struct Open {
    i64 node;
    int phase = 0;
};

struct Found {
    std::vector<i64> node, tree, start{0}, feature;
    std::vector<double> above, upto;
    std::vector<u64> labels;
};

// Depth-first walk of every tree with the box of the path, as far as it meets the ball.
//
// Fills `largest`, counts the leaves `reached` and keeps the first `room` of them; or, given no
// place to count, keeps the leaves of at least their floor.
void collect(const Walk& w, const Matrix<const double>& value, const Matrix<const double>& floors,
             const Matrix<double>& largest, const Vector<i64>& reached, i64 room, Found& found) {
    const i64 words = w.mask.columns;
    Box box(w);
    std::vector<i64> narrowed(w.center.size), order(w.center.size);
    std::vector<Open> path;
    i64 count = 0;  // of the features that the path narrowed, in order
    auto leaf = [&](i64 node, i64 tree) {
        bool matters = false;
        for (i64 k = 0; k < value.rows; ++k) {
            largest(k, tree) = larger(largest(k, tree), value(k, node));
            matters |= value(k, node) >= floors(k, tree);
        }
        if (reached.size) ++reached[tree];
        const bool full = static_cast<i64>(found.node.size()) == room;
        if (reached.size ? full : !matters) return;
        for (i64 i = 0; i < count; ++i) {
            const i64 j = order[i];
            found.feature.push_back(j);
            found.above.push_back(box.above[j]);
            found.upto.push_back(box.upto[j]);
            found.labels.insert(found.labels.end(), box.allowed(j), box.allowed(j) + words);
        }
        found.node.push_back(node);
        found.tree.push_back(tree);
        found.start.push_back(static_cast<i64>(found.feature.size()));
    };
    for (i64 tree = 0; tree < w.roots.size; ++tree) {
        path.assign(1, {w.roots[tree]});
        while (!path.empty()) {
            const i64 top = static_cast<i64>(path.size()) - 1;
            auto& [here, phase] = path.back();
            const i64 j = w.feature[here];
            if (j < 0) {
                leaf(here, tree);
                path.pop_back();
                continue;
            }
            if (phase == 0) {
                box.save(top, j);
            } else {  // undo the branch just finished
                box.restore(top, j);
                if (narrowed[j] == top + 1) {
                    narrowed[j] = 0;
                    --count;
                }
            }
            if (phase == 2) {
                path.pop_back();
                continue;
            }
            const bool goes_left = phase++ == 0;
            const Side side = box.enter(here, j, goes_left);
            if (side == NOTHING) continue;
            if (side == PART && narrowed[j] == 0) {
                narrowed[j] = top + 1;
                order[count++] = j;
            }
            if (box.meets(j)) path.push_back({goes_left ? w.left[here] : w.right[here]});
        }
    }
}

auto collect_leaves(nb::handle walk, const Table<const double>& values,
                    const Table<const double>& floors, const Table<double>& largest,
                    const Line<i64>& reached, i64 room) {
    const Walk w(walk);
    Found found;
    {
        nb::gil_scoped_release released;
        collect(w, view(values), view(floors), view(largest), view(reached), room, found);
    }
    const auto conditions = found.feature.size();
    const auto words = static_cast<std::size_t>(w.mask.columns);
    return std::make_tuple(owned(std::move(found.node)), owned(std::move(found.tree)),
                           owned(std::move(found.start)), owned(std::move(found.feature)),
                           owned(std::move(found.above)), owned(std::move(found.upto)),
                           owned(std::move(found.labels), {conditions, words}));
}

// What takes the place of each node: itself, its only child that is left, or nothing (-1).
std::vector<i64> image_of(const Walk& w) {
    Box box(w);
    std::vector<i64> image(w.left.size, -1);
    std::vector<Open> path;
    for (i64 root : w.roots) {
        path.assign(1, {root});
        while (!path.empty()) {
            const i64 top = static_cast<i64>(path.size()) - 1;
            auto& [here, phase] = path.back();
            const i64 j = w.feature[here];
            if (j < 0) {
                image[here] = here;
                path.pop_back();
                continue;
            }
            if (phase == 0)
                box.save(top, j);
            else  // undo the branch just finished
                box.restore(top, j);
            if (phase == 2) {
                const i64 a = image[w.left[here]], b = image[w.right[here]];
                image[here] = a >= 0 && b >= 0 ? here : larger(a, b);
                path.pop_back();
                continue;
            }
            const bool goes_left = phase++ == 0;
            const i64 child = goes_left ? w.left[here] : w.right[here];
            image[child] = -1;
            if (box.enter(here, j, goes_left) != NOTHING && box.meets(j)) path.push_back({child});
        }
    }
    return image;
}

// The kept nodes of pruned trees, parents before children and tree by tree, and their links.
auto prune(nb::handle walk) {
    const Walk w(walk);
    auto image = image_of(w);
    std::vector<i64> position(w.left.size, -1), source, stack, roots;
    for (i64 root : w.roots) {
        if (image[root] < 0) {  // the ball is empty: keep one arbitrary leaf
            while (w.feature[root] >= 0) root = w.left[root];
            image[root] = root;
        }
        stack.assign(1, image[root]);
        roots.push_back(static_cast<i64>(source.size()));
        while (!stack.empty()) {
            const i64 node = stack.back();
            stack.pop_back();
            position[node] = static_cast<i64>(source.size());
            source.push_back(node);
            if (w.feature[node] >= 0) {
                stack.push_back(image[w.right[node]]);
                stack.push_back(image[w.left[node]]);
            }
        }
    }
    std::vector<i64> left(source.size()), right(source.size());
    for (std::size_t i = 0; i < source.size(); ++i)
        if (w.feature[source[i]] >= 0) {
            left[i] = position[image[w.left[source[i]]]];
            right[i] = position[image[w.right[source[i]]]];
        }
    return std::make_tuple(owned(std::move(source)), owned(std::move(left)),
                           owned(std::move(right)), owned(std::move(roots)));
}

}  // namespace
}  // namespace cfxc

void cfxc::add_walks(nb::module_& module) {
    module.def("collect_leaves", &collect_leaves);
    module.def("prune", &prune);
}
