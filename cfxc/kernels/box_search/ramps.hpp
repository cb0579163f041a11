// A bound on sums of trees and ramps over a box, with ramps as the linear functions they are.
//
// For a multiplier λ >= 0, all points x of the box within the rest r of the radius have
//
//   Σ_t v_t(x) + Σ_j f_j x_j <= Σ_t max v_t + λ r + Σ_j max (f_j x_j - λ (c_j(x_j) - c_j(p_j)))
//
// with p the box's nearest point and c_j the cost of moving feature j.  The right side is convex in
// λ, and where all trees are constant its least value is the optimum of the box's linear program.
#pragma once
#include "bounds.hpp"
#include "boxes.hpp"

namespace cfxc::box_search {

constexpr double LOOSE =
    1e-12;  // relative: above the rounding of the few operations that make a cost

// Whether the trees that stand for no ramp reach their largest leaves at the nearest point.
inline bool decides_at_point(const Tables& t, const State& s, i64 d) {
    for (i64 tree = 0; tree < t.tree.size; ++tree)
        if (t.tree[tree] < t.ramps.first) {
            i64 slot = s.current[tree];
            if (slot < 0 || t.value[slot] < t.value[best(t, s.reach[d], tree)]) return false;
        }
    return true;
}

// What moving feature j to x costs, at least, in units.
inline double cost_of(const Ramps& r, i64 j, double x) {
    if (r.size[j] == 0.0) return 0.0;
    double delta = std::abs(x - r.center[j]) / r.size[j], flat = delta > 0.0 ? r.flat[j] : 0.0;
    double cost = flat + delta * (r.slope[j] + r.square[j] * delta);
    return cost * (1 - LOOSE) - 1.0;
}

// How far towards `end` what is left of the radius may reach, at most.
inline double reachable(const Ramps& r, i64 j, double near, double end, double left) {
    double limit = INF, steep = r.slope[j] + r.top[j];
    if (steep > 0.0) limit = (left + 2.0) / steep;
    if (r.square[j] > 0.0) limit = smaller(limit, std::sqrt((left + 2.0) / r.square[j]));
    if (!(limit < 1e300)) return end;
    double away = limit * r.size[j] * (1 + 4 * LOOSE), here = r.center[j];
    away += LOOSE * (std::abs(here) + away);
    if (end > near) return larger(smaller(end, here + away), near);
    return smaller(larger(end, here - away), near);
}

// Where factor * x - λ cost(x) of a quadratic cost is largest, between near and end.
inline double vertex(const Ramps& r, i64 j, double factor, double multiplier, double near,
                     double end) {
    if (r.square[j] <= 0.0 || multiplier <= 0.0) return end;
    double delta = (std::abs(factor) * r.size[j] / multiplier - r.slope[j]) / (2 * r.square[j]);
    double x = r.center[j] + (end > near ? delta : -delta) * r.size[j];
    return smaller(larger(x, smaller(near, end)), larger(near, end));
}

// The bound's share of the ramps at one λ, and what the ramps reach where it is attained.
inline double at_multiplier(const Tables& t, const State& s, i64 d, i64 k, i64 left,
                            double multiplier, double& reached) {
    const Ramps& r = t.ramps;
    double bound = 0.0;
    reached = 0.0;
    for (i64 j = 0; j < t.home.size; ++j) s.trial[j] = t.point[t.start[j] + s.point[j]];
    for (i64 tree = t.first_tree[k]; tree < t.first_tree[k + 1]; ++tree) {
        i64 ramp = t.tree[tree] - r.first;
        if (ramp < 0) continue;
        i64 j = r.feature[ramp], begin = t.start[j];
        double factor = r.factor(ramp, k);
        double low = t.least[begin + s.first(d, j)], high = t.largest[begin + s.last(d, j)];
        double near = t.point[begin + s.point[j]],
               base = static_cast<double>(t.added[begin + s.point[j]]);
        double value = factor * near, end = factor > 0.0 ? high : low;
        if (end != near) {
            end = reachable(r, j, near, end, static_cast<double>(left) + base);
            for (int attempt = 0; attempt < 2; ++attempt) {
                double x = attempt == 0 ? end : vertex(r, j, factor, multiplier, near, end);
                double excess = larger(cost_of(r, j, x) - base, 0.0);
                if (factor * x - multiplier * excess > value) {
                    value = factor * x - multiplier * excess;
                    s.trial[j] = x;
                }
            }
        }
        double widest = larger(std::abs(low), std::abs(high)) * std::abs(factor);
        bound += value + widest * (r.noise[ramp] + LOOSE);
        reached += factor * s.trial[j];
    }
    return bound;
}

// Whether requirement k is out of reach for some λ, found by halving.
inline bool misses_one(const Tables& t, const State& s, i64 d, i64 k, i64 radius,
                       const Nearest& n) {
    constexpr int HALVINGS = 40;
    double rest = static_cast<double>(larger(radius - n.spent - n.top, i64{0})), need = t.need[k];
    double fixed = 0.0, dearest = 0.0;
    for (i64 tree = t.first_tree[k]; tree < t.first_tree[k + 1]; ++tree) {
        i64 ramp = t.tree[tree] - t.ramps.first;
        if (ramp < 0) {
            fixed += t.value[best(t, s.reach[d], tree)];
            continue;
        }
        i64 j = t.ramps.feature[ramp];
        double cheapest = t.ramps.slope[j] + t.ramps.square[j] * 1e-6;
        if (cheapest > 0.0)
            dearest =
                larger(dearest, std::abs(t.ramps.factor(ramp, k)) * t.ramps.size[j] / cheapest);
    }
    double low = 0.0, high = 4.0 * dearest, most = 0.0, least = -INF;
    for (int step = 0; step < HALVINGS + 2; ++step) {
        double multiplier = step == 0 ? 0.0 : step == 1 ? high : (low + high) / 2, reached;
        double bound = at_multiplier(t, s, d, k, radius - n.spent, multiplier, reached);
        if (fixed + bound + multiplier * rest * (1 + LOOSE) < need - t.slack[k]) {
            s.multiplier[d + 1] = multiplier;
            return true;
        }
        if (step == 0 || fixed + reached >= need) {
            low = multiplier;
            most = fixed + reached;
            std::copy_n(s.trial.data, s.trial.size, s.beyond.data);
        } else {
            high = multiplier;
            least = fixed + reached;
            std::copy_n(s.trial.data, s.trial.size, s.aim.data);
        }
    }
    double share = least < need && need < most ? (need - least) / (most - least) : 1.0;
    for (i64 j = 0; j < s.aim.size; ++j)
        s.aim[j] = least == -INF || most < need ? s.beyond[j]
                                                : s.aim[j] + share * (s.beyond[j] - s.aim[j]);
    return false;
}

// Whether some requirement is out of reach, by the bound above.
//
// If not, `aim` is where the last requirement is reached at least cost, if the trees keep their
// largest values.
inline bool misses_on_ramps(const Tables& t, const State& s, i64 d, i64 radius, const Nearest& n) {
    for (i64 k = 0; k < t.need.size; ++k)
        if (misses_one(t, s, d, k, radius, n)) {
            s.control[DECIDING] = k;
            return true;
        }
    return false;
}

// Split between the point aimed at and the largest leaf of a tree that gains most there.
inline bool part_from_aim(const Tables& t, const State& s, i64 d) {
    double largest = 0.0;
    bool found = false;
    for (i64 tree = 0; tree < t.tree.size; ++tree) {
        if (t.tree[tree] >= t.ramps.first) continue;
        i64 slot = best(t, s.reach[d], tree), last = -1;
        for (i64 w = t.first_word[tree]; w < t.first_word[tree + 1]; ++w)
            if (u64 bits = s.reach(d, w)) last = 64 * w + highest(bits);
        double gain = t.value[slot] - t.value[last];
        for (i64 i = t.condition[slot]; i < t.condition[slot + 1]; ++i) {
            i64 j = t.feature[i];
            if (t.symbolic[j]) continue;
            i64 here = s.first(d, j);
            while (here < s.last(d, j) && t.largest[t.start[j] + here] < s.aim[j]) ++here;
            i64 cut = here < t.first[i] ? t.first[i] - 1 : here > t.last[i] ? t.last[i] : -1;
            if (cut >= 0 && gain > largest) {
                largest = gain;
                found = true;
                s.cut(d, 0) = j;
                s.cut(d, 1) = cut;
            }
        }
    }
    return found;
}

}  // namespace cfxc::box_search
