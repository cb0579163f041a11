// What trees leave of a box of features, leaf by leaf, as solvers/within says.
//
// A linear program has bounded the distance at a point of the box, and its reduced costs say what
// it costs at least to leave that point: a leaf that lies beyond the budget is as good as outside.
#include <map>

#include "kernels.hpp"
#include "python.hpp"

namespace cfxc {
namespace {

struct Leaves {
    Vector<const bool> symbolic;
    Vector<const i64> first;           // (T + 1,): where each tree's leaves begin
    Vector<const i64> start, feature;  // the conditions of each leaf, and their features
    Vector<const double> above, upto;  // the cuts between which a number lies
    Vector<const double> least, most;  // the admissible values between them
    Matrix<const u64> labels;
    Matrix<const double> value;  // (K, n)
    Vector<const double> need;   // (K,), in doubles that leave room for rounding

    explicit Leaves(nb::handle given) {
        Fields read{given};
#define READ(name) read(#name, name)
        READ(symbolic);
        READ(first);
        READ(start);
        READ(feature);
        READ(above);
        READ(upto);
        READ(least);
        READ(most);
        READ(labels);
        READ(value);
        READ(need);
#undef READ
    }
    i64 trees() const { return first.size - 1; }
};

// A box, and what it costs at least to move from a point of it: a unit up or down, or to a label.
struct Node {
    Vector<double> low, high;
    Matrix<u64> allowed;
    Vector<const double> point, up, down;
    Matrix<const double> worth;
    double budget;

    explicit Node(nb::handle given) {
        Fields read{given};
#define READ(name) read(#name, name)
        READ(low);
        READ(high);
        READ(allowed);
        READ(point);
        READ(up);
        READ(down);
        READ(worth);
#undef READ
        budget = nb::cast<double>(nb::getattr(given, "budget"));
    }
};

// What condition c asks for at least; infinite where it leaves nothing of the box.
double cost_of(const Leaves& leaves, const Node& node, i64 c) {
    const i64 j = leaves.feature[c];
    if (leaves.symbolic[j]) {
        double least = INF;
        for (i64 w = 0; w < leaves.labels.columns; ++w)
            for (u64 left = leaves.labels(c, w) & node.allowed(j, w); left; left &= left - 1)
                least = smaller(least, node.worth(j, 64 * w + lowest(left)));
        return least;
    }
    if (leaves.most[c] < node.low[j] || leaves.least[c] > node.high[j]) return INF;
    if (node.point[j] < leaves.least[c]) return node.up[j] * (leaves.least[c] - node.point[j]);
    if (node.point[j] > leaves.most[c]) return node.down[j] * (node.point[j] - leaves.most[c]);
    return 0.0;
}

bool within(const Leaves& leaves, const Node& node, i64 leaf) {
    double total = 0.0;
    for (i64 c = leaves.start[leaf]; c < leaves.start[leaf + 1]; ++c) {
        total += cost_of(leaves, node, c);
        if (!(total <= node.budget) || total == INF) return false;
    }
    return true;
}

bool holds(const Leaves& leaves, const Vector<const double>& point, i64 c) {
    const i64 j = leaves.feature[c];
    if (leaves.symbolic[j]) return has(leaves.labels[c], static_cast<i64>(point[j]));
    return leaves.above[c] < point[j] && point[j] <= leaves.upto[c];
}

// The leaf of a tree that a point lies in.
i64 leaf_at(const Leaves& leaves, const Vector<const double>& point, i64 tree) {
    for (i64 leaf = leaves.first[tree]; leaf < leaves.first[tree + 1]; ++leaf) {
        bool all = true;
        for (i64 c = leaves.start[leaf]; all && c < leaves.start[leaf + 1]; ++c)
            all = holds(leaves, point, c);
        if (all) return leaf;
    }
    return -1;
}

class Cutting {
  public:
    Cutting(const Leaves& leaves, const Node& node)
        : leaves_(leaves), node_(node), alive_(leaves.value.columns),
          most_(leaves.value.rows * leaves.trees()), least_(node.low.size), upto_(node.low.size),
          count_(node.low.size), kept_(node.allowed.rows * node.allowed.columns) {}

    // Narrow the box to the leaves that can be part of a sum that suffices; false: it is empty.
    bool run() {
        for (i64 round = 0; round < ROUNDS; ++round) {
            if (!reaches()) return false;
            bool narrower = false;
            for (i64 tree = 0; tree < leaves_.trees(); ++tree) {
                if (!narrow(tree, narrower)) return false;
            }
            if (!narrower) break;
        }
        return true;
    }

  private:
    static constexpr i64 ROUNDS = 8;

    // Which leaves are left, and whether the best of each tree suffice.
    bool reaches() {
        const i64 needs = leaves_.value.rows;
        std::vector<double> total(needs, 0.0);
        for (i64 tree = 0; tree < leaves_.trees(); ++tree) {
            double* most = most_.data() + tree * needs;
            std::fill_n(most, needs, -INF);
            for (i64 leaf = leaves_.first[tree]; leaf < leaves_.first[tree + 1]; ++leaf) {
                alive_[leaf] = within(leaves_, node_, leaf);
                if (!alive_[leaf]) continue;
                for (i64 k = 0; k < needs; ++k) most[k] = larger(most[k], leaves_.value(k, leaf));
            }
            for (i64 k = 0; k < needs; ++k) total[k] += most[k];
        }
        for (i64 k = 0; k < needs; ++k)
            if (!(total[k] >= leaves_.need[k])) return false;
        total_ = total;
        return true;
    }

    // Whether a leaf suffices with the best of the other trees.
    bool matters(i64 leaf, i64 tree) const {
        const i64 needs = leaves_.value.rows;
        for (i64 k = 0; k < needs; ++k) {
            const double others = total_[k] - most_[tree * needs + k];
            if (!(others + leaves_.value(k, leaf) >= leaves_.need[k])) return false;
        }
        return true;
    }

    // Narrow the box to the leaves of one tree that matter; false if none does.
    bool narrow(i64 tree, bool& narrower) {
        const i64 words = node_.allowed.columns;
        i64 all = 0;
        touched_.clear();
        for (i64 leaf = leaves_.first[tree]; leaf < leaves_.first[tree + 1]; ++leaf) {
            if (!alive_[leaf] || !matters(leaf, tree)) continue;
            ++all;
            for (i64 c = leaves_.start[leaf]; c < leaves_.start[leaf + 1]; ++c) {
                const i64 j = leaves_.feature[c];
                if (count_[j]++ == 0) {
                    touched_.push_back(j);
                    least_[j] = leaves_.least[c];
                    upto_[j] = leaves_.most[c];
                    std::copy_n(leaves_.labels[c], words, kept_.data() + j * words);
                } else {
                    least_[j] = smaller(least_[j], leaves_.least[c]);
                    upto_[j] = larger(upto_[j], leaves_.most[c]);
                    join(kept_.data() + j * words, leaves_.labels[c], words);
                }
            }
        }
        for (i64 j : touched_) {
            if (count_[j] == all) narrower |= apply(j);
            count_[j] = 0;
        }
        return all > 0;
    }

    bool apply(i64 j) {
        bool narrower = false;
        if (leaves_.symbolic[j]) {
            for (i64 w = 0; w < node_.allowed.columns; ++w) {
                u64& set = node_.allowed(j, w);
                const u64 both = set & kept_[j * node_.allowed.columns + w];
                narrower |= both != set;
                set = both;
            }
            return narrower;
        }
        if (least_[j] > node_.low[j]) {
            node_.low[j] = least_[j];
            narrower = true;
        }
        if (upto_[j] < node_.high[j]) {
            node_.high[j] = upto_[j];
            narrower = true;
        }
        return narrower;
    }

    const Leaves& leaves_;
    const Node& node_;
    std::vector<char> alive_;
    std::vector<double> most_, total_, least_, upto_;
    std::vector<i64> count_, touched_;
    std::vector<u64> kept_;
};

bool cut_leaves(nb::handle leaves, nb::handle node) {
    const Leaves given(leaves);
    const Node box(node);
    return Cutting(given, box).run();
}

// The sums at a point, the cell between cuts that it lies in, and the cut that lies between it and
// the most that the trees could give: what leaves would add, each shared among its cuts.
auto look_at_leaves(nb::handle leaves_given, nb::handle node_given) {
    const Leaves leaves(leaves_given);
    const Node node(node_given);
    const i64 needs = leaves.value.rows;
    std::vector<double> sums(needs, 0.0);
    std::vector<double> least(node.low.begin(), node.low.end());
    std::vector<double> most(node.high.begin(), node.high.end());
    std::vector<i64> own(leaves.trees());
    for (i64 tree = 0; tree < leaves.trees(); ++tree) {
        const i64 leaf = own[tree] = leaf_at(leaves, node.point, tree);
        for (i64 k = 0; k < needs; ++k) sums[k] += leaf < 0 ? -INF : leaves.value(k, leaf);
        if (leaf < 0) continue;  // it was left out, as it never suffices
        for (i64 c = leaves.start[leaf]; c < leaves.start[leaf + 1]; ++c) {
            const i64 j = leaves.feature[c];
            least[j] = larger(least[j], leaves.least[c]);
            most[j] = smaller(most[j], leaves.most[c]);
        }
    }
    std::map<std::pair<i64, double>, double> score;
    for (i64 tree = 0; tree < leaves.trees(); ++tree) {
        for (i64 leaf = leaves.first[tree]; leaf < leaves.first[tree + 1]; ++leaf) {
            double gain = 0.0;
            for (i64 k = 0; k < needs; ++k) {
                if (sums[k] >= leaves.need[k]) continue;
                const double here = own[tree] < 0 ? -1.0 : leaves.value(k, own[tree]);
                gain += larger(leaves.value(k, leaf) - here, own[tree] < 0 ? 1.0 : 0.0);
            }
            if (gain <= 0.0 || !within(leaves, node, leaf)) continue;
            i64 count = 0;
            for (i64 c = leaves.start[leaf]; c < leaves.start[leaf + 1]; ++c)
                count += !holds(leaves, node.point, c);
            for (i64 c = leaves.start[leaf]; c < leaves.start[leaf + 1]; ++c) {
                if (holds(leaves, node.point, c)) continue;
                const i64 j = leaves.feature[c];
                const bool right = node.point[j] <= leaves.above[c];
                const double cut = leaves.symbolic[j] ? 0.0
                                   : right            ? leaves.above[c]
                                                      : leaves.upto[c];
                score[{j, cut}] += gain / static_cast<double>(count);
            }
        }
    }
    i64 feature = -1;
    double cut = 0.0, best = 0.0;
    for (const auto& [place, worth] : score) {
        if (worth <= best) continue;
        best = worth;
        feature = place.first;
        cut = place.second;
    }
    return std::make_tuple(owned(std::move(sums)), owned(std::move(least)), owned(std::move(most)),
                           feature, cut);
}

}  // namespace
}  // namespace cfxc

void cfxc::add_leaves(nb::module_& module) {
    module.def("cut_leaves", &cut_leaves);
    module.def("look_at_leaves", &look_at_leaves);
}
