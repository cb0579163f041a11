// Strong branching: which cut changes the bound of the tightest requirement most on both sides.
#pragma once
#include "bounds.hpp"

namespace cfxc::box_search {

// Give each cut between the point and a tree's largest leaf its share of the tree's gain.
inline i64 weigh(const Tables& t, const State& s, i64 d) {
    i64 count = 0;
    for (i64 k = 0; k < t.need.size; ++k) {
        if (s.now[k] >= t.need[k] + t.slack[k]) continue;
        for (i64 tree = t.first_tree[k]; tree < t.first_tree[k + 1]; ++tree) {
            i64 slot = best(t, s.reach[d], tree);
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
        double losing = lost(t, s, s.reach[d], near), gained = lost(t, s, s.reach[d], there);
        if (rest > 0)
            gained = smaller(1.0, gained + static_cast<double>(cost - t.added[here]) /
                                               static_cast<double>(rest));
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
