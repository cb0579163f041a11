// Greedy moves of one feature at a time, and back; climb.py says what for.
//
// A sweep gives the sums of all trees as a function of one feature, the others held: one walk
// through each tree, both ways at splits on that feature.
#include "kernels.hpp"
#include "python.hpp"

namespace cfxc {
namespace {

enum Move { STUCK, MOVED, REACHED };

struct Forest {
    Vector<const i64> roots, left, right, feature, cut_of, bound;
    Vector<const bool> below;
    Matrix<const u64> mask;
    Matrix<const double> value;
    Vector<const double> need;
    Vector<const i64> start;
    Vector<const bool> symbolic;
    Vector<const i64> home, added, peak;

    explicit Forest(nb::handle given) {
        Fields read{given};
#define READ(name) read(#name, name)
        READ(roots);
        READ(left);
        READ(right);
        READ(feature);
        READ(cut_of);
        READ(bound);
        READ(below);
        READ(mask);
        READ(value);
        READ(need);
        READ(start);
        READ(symbolic);
        READ(home);
        READ(added);
        READ(peak);
#undef READ
    }
};

struct Distance {
    i64 spent = 0, top = 0;
};

// Cost in sum and in maximum of a point, without one feature.
Distance distance_of(const Forest& f, const Vector<i64>& point, i64 skipped) {
    Distance d;
    for (i64 j = 0; j < point.size; ++j)
        if (j != skipped) {
            d.spent += f.added[f.start[j] + point[j]];
            d.top = larger(d.top, f.peak[f.start[j] + point[j]]);
        }
    return d;
}

class Sweep {
  public:
    Sweep(const Forest& forest, const Vector<i64>& point) : f_(forest), point_(point) {
        i64 most = 0;
        for (i64 j = 0; j < forest.home.size; ++j)
            most = larger(most, forest.start[j + 1] - forest.start[j]);
        sums_.resize(forest.need.size * most);
        width_ = most;
    }

    // What each sum is with feature j in cell c and the others as in the point, for `lacking`.
    void along(i64 j);

    // By how much cell c of the feature swept misses what is needed; 0 if it does not.
    double lacking(i64 c) const {
        double total = 0.0;
        for (i64 k = 0; k < f_.need.size; ++k)
            total += larger(0.0, f_.need[k] - sums_[k * width_ + c]);
        return total;
    }

  private:
    struct Part {
        i64 node, low, high;
    };

    void leaf(i64 j, const Part& part, const u64* allowed, i64 count);
    i64 onward(i64 i, i64 node) const;

    const Forest& f_;
    const Vector<i64>& point_;
    std::vector<double> sums_;
    i64 width_;
    std::vector<Part> stack_;
    std::vector<u64> sets_;  // of labels, beside the stack
};

void Sweep::leaf(i64 j, const Part& part, const u64* allowed, i64 count) {
    for (i64 k = 0; k < f_.need.size; ++k) {
        double* row = sums_.data() + k * width_;
        const double value = f_.value(k, part.node);
        if (f_.symbolic[j]) {
            for (i64 code = 0; code < count; ++code)
                if (has(allowed, code)) row[code] += value;
        } else {
            row[part.low] += value;
            if (part.high + 1 < count) row[part.high + 1] -= value;
        }
    }
}

i64 Sweep::onward(i64 i, i64 node) const {
    const bool to_left = f_.symbolic[i]
                             ? has(f_.mask[node], point_[i])
                             : (point_[i] <= f_.bound[f_.cut_of[node]]) == f_.below[node];
    return to_left ? f_.left[node] : f_.right[node];
}

void Sweep::along(i64 j) {
    const i64 count = f_.start[j + 1] - f_.start[j], words = f_.mask.columns;
    for (i64 k = 0; k < f_.need.size; ++k) std::fill_n(sums_.data() + k * width_, count, 0.0);
    for (i64 root : f_.roots) {
        stack_.assign(1, {root, 0, count - 1});
        sets_.assign(words, ~u64{0});
        while (!stack_.empty()) {
            Part& part = stack_.back();
            const i64 node = part.node, i = f_.feature[node];
            if (i < 0) {
                leaf(j, part, sets_.data() + sets_.size() - words, count);
                stack_.pop_back();
                sets_.resize(sets_.size() - words);
            } else if (i != j) {
                part.node = onward(i, node);
            } else if (f_.symbolic[j]) {
                part.node = f_.right[node];
                const std::size_t here = sets_.size() - words;
                for (i64 w = 0; w < words; ++w) {
                    sets_.push_back(sets_[here + w] & f_.mask(node, w));
                    sets_[here + w] &= ~f_.mask(node, w);
                }
                stack_.push_back({f_.left[node], part.low, part.high});
            } else {
                i64 under = f_.left[node], over = f_.right[node];
                const i64 cell = f_.bound[f_.cut_of[node]];
                if (!f_.below[node]) std::swap(under, over);
                if (part.high <= cell) {
                    part.node = under;
                } else if (part.low > cell) {
                    part.node = over;
                } else {
                    const i64 low = part.low;
                    part.node = over;
                    part.low = cell + 1;
                    stack_.push_back({under, low, cell});
                    sets_.insert(sets_.end(), words, ~u64{0});
                }
            }
        }
    }
    if (!f_.symbolic[j])
        for (i64 k = 0; k < f_.need.size; ++k)
            for (i64 c = 1; c < count; ++c) sums_[k * width_ + c] += sums_[k * width_ + c - 1];
}

// One greedy move of a feature that has not `moved`; the nearest that reaches the target.
int climb_step(nb::handle forest, const Line<i64>& cells, const Line<bool>& already,
               double patience, double small) {
    const Forest f(forest);
    const auto point = view(cells);
    const auto moved = view(already);
    nb::gil_scoped_release released;
    Sweep sweep(f, point);
    double best = 0.0, nearest = INF;
    i64 feature = -1, cell = 0, hit_feature = -1, hit_cell = 0;
    const Distance own = distance_of(f, point, -1);
    const i64 here = own.spent + own.top;
    for (i64 j = 0; j < point.size; ++j) {
        const i64 begin = f.start[j], count = f.start[j + 1] - begin;
        if (moved[j] || count == 1) continue;
        sweep.along(j);
        const Distance others = distance_of(f, point, j);
        const double lacking = sweep.lacking(point[j]);
        for (i64 c = 0; c < count; ++c) {
            if (f.added[begin + c] >= NEVER) continue;
            const i64 distance =
                others.spent + f.added[begin + c] + larger(others.top, f.peak[begin + c]);
            const double left = sweep.lacking(c);
            if (left <= 0.0) {
                if (static_cast<double>(distance) < nearest) {
                    nearest = static_cast<double>(distance);
                    hit_feature = j;
                    hit_cell = c;
                }
            } else if (left < lacking) {
                const double cost = static_cast<double>(larger(distance - here, i64{0})) + small;
                const double worth = (lacking - left) / std::pow(cost, patience);
                if (worth > best) {
                    best = worth;
                    feature = j;
                    cell = c;
                }
            }
        }
    }
    if (hit_feature >= 0) {
        point[hit_feature] = hit_cell;
        return REACHED;
    }
    if (feature < 0) return STUCK;
    point[feature] = cell;
    moved[feature] = true;
    return MOVED;
}

// Move one feature nearer where the target holds, by the largest step; whether one moved.
bool shrink_step(nb::handle forest, const Line<i64>& cells) {
    const Forest f(forest);
    const auto point = view(cells);
    nb::gil_scoped_release released;
    Sweep sweep(f, point);
    const Distance own = distance_of(f, point, -1);
    i64 nearest = own.spent + own.top, feature = -1, cell = 0;
    for (i64 j = 0; j < point.size; ++j) {
        const i64 begin = f.start[j];
        if (point[j] == f.home[j]) continue;
        sweep.along(j);
        const Distance others = distance_of(f, point, j);
        for (i64 c = 0; c < f.start[j + 1] - begin; ++c) {
            const i64 distance =
                others.spent + f.added[begin + c] + larger(others.top, f.peak[begin + c]);
            if (distance < nearest && sweep.lacking(c) <= 0.0) {
                nearest = distance;
                feature = j;
                cell = c;
            }
        }
    }
    if (feature >= 0) point[feature] = cell;
    return feature >= 0;
}

// Coordinate ascent of the sums among cells whose cost in maximum is within the limit.
bool ascend(nb::handle forest, const Line<i64>& cells, i64 limit) {
    const Forest f(forest);
    const auto point = view(cells);
    nb::gil_scoped_release released;
    Sweep sweep(f, point);
    for (int round = 0; round < 2; ++round)
        for (i64 j = 0; j < point.size; ++j) {
            const i64 begin = f.start[j];
            sweep.along(j);
            double best = sweep.lacking(point[j]);
            i64 cell = point[j];
            for (i64 c = 0; c < f.start[j + 1] - begin; ++c)
                if (f.added[begin + c] < NEVER && f.peak[begin + c] <= limit) {
                    const double left = sweep.lacking(c);
                    if (left < best) {
                        best = left;
                        cell = c;
                    }
                }
            point[j] = cell;
            if (best <= 0.0) return true;
        }
    return false;
}

}  // namespace
}  // namespace cfxc

void cfxc::add_climbing(nb::module_& module) {
    module.def("climb_step", &climb_step);
    module.def("shrink_step", &shrink_step);
    module.def("ascend", &ascend);
}
