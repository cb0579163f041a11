// Strong branching: which cut changes the bound of the tightest requirement most on both sides.
//
// Where the trees share costs, the bound is the Lagrangian of ladders.hpp as its last round left
// it: on the nearer side leaves are gone; on the farther one too, the nearest point has moved, and
// what lies before it is paid.
#pragma once
#include "ladders.hpp"

namespace cfxc::box_search {

// Give each cut between the point and a tree's largest leaf its share of the tree's gain.
inline i64 weigh(const Tables& t, const State& s, i64 d) {
    i64 count = 0;
    for (i64 k = 0; k < t.need.size; ++k) {
        if (s.now[k] >= t.need[k] + t.slack[k]) continue;
        const bool priced = prices(s, d) == k;
        for (i64 tree = t.first_tree[k]; tree < t.first_tree[k + 1]; ++tree) {
            i64 slot = priced ? s.chosen[tree] : best(t, s.reach[d], tree);
            double gain = larger(s.most[k] - t.need[k], t.slack[k]);
            if (s.current[tree] >= 0) gain = t.value[slot] - t.value[s.current[tree]];
            if (gain <= 0.0) continue;
            i64 crossed = 0;
            for (i64 i = t.condition[slot]; i < t.condition[slot + 1]; ++i)
                crossed += s.between[i] >= 0;
            for (i64 i = t.condition[slot]; i < t.condition[slot + 1]; ++i) {
                i64 index = s.between[i];
                if (index < 0) continue;
                if (s.weight[index] == 0.0) s.touched[count++] = index;
                s.weight[index] += gain / static_cast<double>(crossed);
            }
        }
    }
    return count;
}

// Take the weights back.
inline void forget(const State& s, i64 count) {
    for (i64 i = 0; i < count; ++i) s.weight[s.touched[i]] = 0.0;
}

// The leaves that the other labels of j meet, into `holding`; the least of their costs.
inline i64 other_labels(const Tables& t, const State& s, i64 d, i64 j) {
    i64 cost = i64{1} << 62, words = s.reach.columns;
    std::fill_n(s.holding.data, words, u64{0});
    for (i64 code = 0; code < t.start[j + 1] - t.start[j]; ++code)
        if (has(s.set(d, j), code) && code != s.point[j]) {
            const u64* row = label_row(t, j, code);
            cost = smaller(cost, t.added[t.start[j] + code]);
            for (i64 w = 0; w < words; ++w) s.holding[w] |= row[w];
        }
    return cost;
}

// The largest share of its slack that a requirement loses on one side of a cut.
inline double lost(const Tables& t, const State& s, const u64* reach, const u64* row) {
    double largest = 0.0;
    for (i64 k = 0; k < t.need.size; ++k) {
        double total = 0.0;
        for (i64 tree = t.first_tree[k]; tree < t.first_tree[k + 1]; ++tree) {
            i64 slot = -1;
            for (i64 w = t.first_word[tree]; w < t.first_word[tree + 1]; ++w)
                if (u64 bits = reach[w] & row[w]) {
                    slot = 64 * w + lowest(bits);
                    break;
                }
            if (slot < 0) return 1.0;
            total += t.value[slot];
        }
        double gap = s.most[k] - t.need[k];
        if (total < t.need[k] || gap <= 0.0) return 1.0;
        largest = larger(largest, (s.most[k] - total) / gap);
    }
    return largest;
}

// What a tree pays up to a cell beyond the nearest point.
inline double paid_up_to(const Tables& t, const State& s, i64 tree, i64 j, i64 cell) {
    const i64 of = 2 * j + (cell < t.start[j] + s.point[j]);
    const i64* ladders = t.ladder_of.data;
    const i64 end = t.first_ladder[tree + 1];
    const i64 q = std::lower_bound(ladders + t.first_ladder[tree], ladders + end, of) - ladders;
    if (q < end && ladders[q] == of) {
        double paid = 0.0, before = 0.0;
        for (i64 r = s.within(q, 0); r < s.within(q, 1); ++r) {
            const i64 rung = t.rung_cell[r];
            if (of % 2 == 0 ? rung >= cell : rung <= cell) {
                const double span = s.density[rung] - before;
                return span > 0.0 ? paid + (s.price[r] - paid) * (s.density[cell] - before) / span
                                  : paid;
            }
            paid = s.price[r];
            before = s.density[rung];
        }
        return paid;
    }
    return 0.0;
}

// How much less the trees of requirement k reach on one side of a cut of feature j, by the
// Lagrangian; `cell`: where the nearest point moves, or -1.
inline double lost_when_sharing(const Tables& t, const State& s, i64 d, const u64* row, i64 k,
                                i64 j, i64 cell) {
    const u64* reach = s.reach[d];
    double lost = 0.0;
    for (i64 tree = t.first_tree[k]; tree < t.first_tree[k + 1]; ++tree) {
        const double free = cell < 0 ? 0.0 : paid_up_to(t, s, tree, j, cell);
        if (free == 0.0 && has(row, s.chosen[tree])) continue;
        double most = -INF;
        for (i64 w = t.first_word[tree]; w < t.first_word[tree + 1]; ++w)
            for (u64 bits = reach[w] & row[w]; bits; bits &= bits - 1) {
                const i64 slot = 64 * w + lowest(bits);
                if (t.value[slot] <= most) break;
                double paid = 0.0;
                for (i64 i = t.condition[slot]; i < t.condition[slot + 1]; ++i)
                    if (s.more[i] > 0) {
                        const double own = paid_for(t, s, i);
                        paid += t.feature[i] == j ? larger(own - free, 0.0) : own;
                    }
                most = larger(most, t.value[slot] - s.last_multiplier[0] * paid);
            }
        lost += s.top[tree] - most;
    }
    return lost;
}

// Choose the cut that costs both sides most, of the heaviest ones; whether there is one.
inline bool strongest(const Tables& t, const State& s, i64 d, i64 count, i64 rest) {
    constexpr i64 CANDIDATES = 16;
    double top = -INF;
    bool found = false;
    for (i64 n = 0; n < smaller(CANDIDATES, count); ++n) {
        i64 index = -1;
        double largest = 0.0;
        for (i64 i = 0; i < count; ++i)
            if (s.weight[s.touched[i]] > largest) {
                index = s.touched[i];
                largest = s.weight[index];
            }
        if (index < 0) break;
        s.weight[index] = -largest;
        i64 cell = index / 2;
        i64 j =
            std::upper_bound(t.start.data, t.start.data + t.start.size, cell) - t.start.data - 1;
        i64 here = t.start[j] + s.point[j], cost;
        const u64 *near, *there;
        if (t.symbolic[j]) {
            cost = other_labels(t, s, d, j);
            near = label_row(t, j, s.point[j]);
            there = s.holding.data;
        } else if (index % 2 == 0) {
            near = upto_row(t, j, cell - t.start[j], s.side.data);
            there = since_row(t, j, cell + 1 - t.start[j], s.holding.data);
            cost = t.added[cell + 1];
        } else {
            near = since_row(t, j, cell + 1 - t.start[j], s.side.data);
            there = upto_row(t, j, cell - t.start[j], s.holding.data);
            cost = t.added[cell];
        }
        const double farther = static_cast<double>(larger(cost - t.added[here], i64{0}));
        double losing, gained;
        if (const i64 k = prices(s, d); k >= 0) {
            const i64 moved = t.whole[j] ? -1 : cell + (index % 2 == 0);
            losing = lost_when_sharing(t, s, d, near, k, j, -1) / s.excess[0];
            gained =
                (lost_when_sharing(t, s, d, there, k, j, moved) + s.last_multiplier[0] * farther) /
                s.excess[0];
        } else {
            losing = lost(t, s, s.reach[d], near);
            gained = lost(t, s, s.reach[d], there);
            if (rest > 0) gained += farther / static_cast<double>(rest);
        }
        losing = smaller(1.0, losing);
        gained = smaller(1.0, gained);
        double score = larger(losing, 1e-3) * larger(gained, 1e-3);
        if (score > top) {
            top = score;
            found = true;
            s.cut(d, 0) = j;
            s.cut(d, 1) = t.symbolic[j] ? s.point[j] : cell - t.start[j];
        }
    }
    return found;
}

}  // namespace cfxc::box_search
