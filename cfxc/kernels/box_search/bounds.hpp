// Bounds on the sums over a box, from the leaves that it still meets.
//
// Two are tried, cheapest first:
//
// * Σ_t max {v : leaf of tree t that the box meets and the rest of the radius can reach};
// * its Lagrangian, which lets the trees share the cost of moving: for λ >= 0 and shares a of each
//   feature's cost over the trees (a >= 0, Σ_t a_tj <= 1), all points x of the box within the rest
//   r of the radius have
//     Σ_t v_t(x) <= λ r + Σ_t max_l (v_l - λ Σ_j a_tj cost_j(l))
//   with cost_j(l) the least cost of moving feature j into leaf l; λ and a follow subgradients.
#pragma once
#include "rows.hpp"

namespace cfxc::box_search {

// The slot of the largest leaf still reachable in a tree, or -1.
inline i64 best(const Tables& t, const u64* reach, i64 tree) {
    for (i64 w = t.first_word[tree]; w < t.first_word[tree + 1]; ++w)
        if (reach[w]) return 64 * w + lowest(reach[w]);
    return -1;
}

// Whether a sum in two limbs is less than what requirement k needs; exact.
inline bool falls_short(const Tables& t, i64 k, i64 high, i64 low) {
    high += low >> t.shift;
    low &= (i64{1} << t.shift) - 1;
    return high < t.need_high[k] || (high == t.need_high[k] && low < t.need_low[k]);
}

// Whether some requirement is out of reach of the sums of the largest leaves; exact.
inline bool misses(const Tables& t, const State& s, const u64* reach) {
    for (i64 k = 0; k < t.need.size; ++k) {
        i64 high = 0, low = 0;
        double most = 0.0;
        for (i64 tree = t.first_tree[k]; tree < t.first_tree[k + 1]; ++tree) {
            i64 slot = best(t, reach, tree);
            if (slot < 0) {
                s.control[DECIDING] = k;
                return true;
            }
            high += t.high[slot];
            low += t.low[slot];
            most += t.value[slot];
        }
        s.most[k] = most;
        if (falls_short(t, k, high, low)) {
            s.control[DECIDING] = k;
            return true;
        }
    }
    return false;
}

// Price conditions; drop leaves with which a requirement fails, or that lie too far.
inline void drop_leaves(const Tables& t, const State& s, i64 d, i64 radius, i64 spent, i64 top) {
    u64* reach = s.reach[d];
    for (i64 k = 0; k < t.need.size; ++k) {
        double goal = t.need[k] - t.slack[k] - s.most[k];
        for (i64 tree = t.first_tree[k]; tree < t.first_tree[k + 1]; ++tree) {
            double floor = goal + t.value[best(t, reach, tree)];
            for (i64 w = t.first_word[tree]; w < t.first_word[tree + 1]; ++w) {
                for (u64 bits = reach[w]; bits;) {
                    u64 bit = bits & (~bits + 1);
                    i64 slot = 64 * w + lowest(bits);
                    if (t.value[slot] < floor) {
                        reach[w] &= ~bits;
                        break;
                    }
                    bits ^= bit;
                    i64 total = spent, high = top;
                    for (i64 i = t.condition[slot]; i < t.condition[slot + 1]; ++i) {
                        i64 j = t.feature[i], begin = t.start[j], here = s.point[j], there, cut;
                        if (t.symbolic[j]) {
                            if (has(t.labels[i], here)) {
                                s.more[i] = 0;
                                s.between[i] = -1;
                                continue;
                            }
                            there = t.cheapest[i];
                            cut = 2 * begin;
                        } else if (here < t.first[i]) {
                            there = begin + t.first[i];
                            cut = 2 * (begin + t.first[i] - 1);
                        } else if (here > t.last[i]) {
                            there = begin + t.last[i];
                            cut = 2 * (begin + t.last[i]) + 1;
                        } else {
                            s.more[i] = 0;
                            s.between[i] = -1;
                            continue;
                        }
                        s.more[i] = larger(t.added[there] - t.added[begin + here], i64{0});
                        s.between[i] = cut;
                        total += s.more[i];
                        high = larger(high, t.peak[there]);
                    }
                    if (total + high > radius) reach[w] ^= bit;
                }
            }
        }
    }
}

// Find each tree's leaf at the nearest point, and whether all requirements hold there.
inline bool holds_at_point(const Tables& t, const State& s, i64 d) {
    i64 words = s.reach.columns;
    u64 *reach = s.reach[d], *holding = s.holding.data;
    std::copy_n(reach, words, holding);
    for (i64 j = 0; j < t.home.size; ++j) {
        if (!t.symbolic[j] && s.first(d, j) == s.last(d, j)) continue;
        if (t.symbolic[j]) {
            meet(holding, label_row(t, j, s.point[j]), words);
        } else {
            meet_upto(t, holding, j, s.point[j]);
            meet_since(t, holding, j, s.point[j]);
        }
    }
    bool all = true;
    for (i64 k = 0; k < t.need.size; ++k) {
        i64 high = 0, low = 0;
        double now = 0.0;
        for (i64 tree = t.first_tree[k]; tree < t.first_tree[k + 1]; ++tree) {
            i64 slot = s.current[tree] = best(t, holding, tree);
            if (slot < 0) {
                all = false;
                now += t.value[best(t, reach, tree)] - s.most[k] + t.need[k];
                continue;
            }
            high += t.high[slot];
            low += t.low[slot];
            now += t.value[slot];
        }
        s.now[k] = now;
        if (falls_short(t, k, high, low)) all = false;
    }
    return all;
}

}  // namespace cfxc::box_search
