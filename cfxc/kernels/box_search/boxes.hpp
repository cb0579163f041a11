// Boxes: their nearest point, what the radius leaves of them, and how they are halved.
#pragma once
#include "rows.hpp"

namespace cfxc::box_search {

// The nearest point's cost in sum, the two largest in maximum, and whose is the first.
struct Nearest {
    i64 spent = 0, top = 0, second = 0, which = -1;
};

// Put the box's nearest point into `point`.
inline Nearest nearest(const Tables& t, const State& s, i64 d) {
    Nearest n;
    for (i64 j = 0; j < t.home.size; ++j) {
        i64 begin = t.start[j], cell = -1;
        if (t.symbolic[j]) {
            i64 least = i64{1} << 62;
            for (i64 code = 0; code < t.start[j + 1] - begin; ++code)
                if (has(s.set(d, j), code)) {
                    i64 cost = t.added[begin + code] + t.peak[begin + code];
                    if (cost < least || (cost == least && code == t.home[j])) {
                        cell = code;
                        least = cost;
                    }
                }
        } else {
            cell = smaller(larger(t.home[j], s.first(d, j)), s.last(d, j));
        }
        s.point[j] = cell;
        n.spent += t.added[begin + cell];
        i64 peak = t.peak[begin + cell];
        if (peak > n.top) {
            n.second = n.top;
            n.top = peak;
            n.which = j;
        } else if (peak > n.second)
            n.second = peak;
    }
    return n;
}

// Whether a cell lies out of the rest of the radius.
inline bool beyond(const Tables& t, i64 cell, i64 rest, i64 others) {
    return t.added[cell] + larger(t.peak[cell], others) > rest;
}

// Drop the leaves that none of the remaining labels of j reaches.
inline void meet_labels(const Tables& t, const State& s, i64 d, i64 j) {
    i64 words = s.reach.columns;
    std::fill_n(s.holding.data, words, u64{0});
    for (i64 code = 0; code < t.start[j + 1] - t.start[j]; ++code)
        if (has(s.set(d, j), code)) {
            const u64* row = label_row(t, j, code);
            for (i64 w = 0; w < words; ++w) s.holding[w] |= row[w];
        }
    meet(s.reach[d], s.holding.data, words);
}

// Take away the labels that the rest of the radius cannot reach.
inline void narrow_labels(const Tables& t, const State& s, i64 d, i64 j, i64 rest, i64 others) {
    bool changed = false;
    u64* set = s.set(d, j);
    for (i64 code = 0; code < t.start[j + 1] - t.start[j]; ++code)
        if (has(set, code) && beyond(t, t.start[j] + code, rest, others)) {
            set[code / 64] &= ~(u64{1} << (code % 64));
            changed = true;
        }
    if (changed) meet_labels(t, s, d, j);
}

// Take away the cells that the rest of the radius cannot reach.
inline void narrow(const Tables& t, const State& s, i64 d, i64 radius, const Nearest& n) {
    u64* reach = s.reach[d];
    for (i64 j = 0; j < t.home.size; ++j) {
        i64 begin = t.start[j], rest = radius - n.spent + t.added[begin + s.point[j]];
        i64 others = j == n.which ? n.second : n.top;
        if (t.symbolic[j]) {
            narrow_labels(t, s, d, j, rest, others);
            continue;
        }
        i64 first = s.first(d, j), last = s.last(d, j);
        while (beyond(t, begin + first, rest, others)) ++first;
        while (beyond(t, begin + last, rest, others)) --last;
        if (first != s.first(d, j)) {
            s.first(d, j) = first;
            meet_since(t, reach, j, first);
        }
        if (last != s.last(d, j)) {
            s.last(d, j) = last;
            meet_upto(t, reach, j, last);
        }
    }
}

// Halve the feature with the most cells, of those that the constraints read if they matter.
inline bool halve(const Tables& t, const Logic& l, const State& s, i64 d, i64 admitted) {
    i64 most = 1, feature = -1;
    for (i64 j = 0; j < t.home.size; ++j) {
        if (admitted == 1 && !l.used[j]) continue;
        i64 count = s.last(d, j) - s.first(d, j) + 1;
        if (t.symbolic[j]) {
            count = 0;
            for (i64 code = 0; code < t.start[j + 1] - t.start[j]; ++code)
                count += has(s.set(d, j), code);
        }
        if (count > most) {
            most = count;
            feature = j;
        }
    }
    if (feature < 0) return false;
    s.cut(d, 0) = feature;
    s.cut(d, 1) =
        t.symbolic[feature] ? s.point[feature] : (s.first(d, feature) + s.last(d, feature)) / 2;
    return true;
}

// Whether a box has more of feature j than the cell of its nearest point.
inline bool goes_on(const Tables& t, const State& s, i64 d, i64 j) {
    if (!t.symbolic[j]) return s.first(d, j) != s.last(d, j);
    for (i64 code = 0; code < t.start[j + 1] - t.start[j]; ++code)
        if (has(s.set(d, j), code) && code != s.point[j]) return true;
    return false;
}

// Where as many features have moved as may, split off what another one could move to.
//
// Whether there is such a one: the part split off breaks the cap, and the rest is smaller.
inline bool confine(const Tables& t, const Logic& l, const State& s, i64 d) {
    i64 moved = 0, feature = -1;
    for (i64 j = 0; j < t.home.size; ++j) {
        if (!l.counted[j]) continue;
        if (s.point[j] != t.home[j])
            ++moved;
        else if (feature < 0 && goes_on(t, s, d, j))
            feature = j;
    }
    if (moved < l.cap || feature < 0) return false;
    i64 home = t.home[feature];
    bool below = !t.symbolic[feature] && s.first(d, feature) < home;
    s.cut(d, 0) = feature;
    s.cut(d, 1) = below ? home - 1 : home;
    return true;
}

// Where one more feature may move, let the split say whether it does: at the factual's edge.
inline void edge(const Tables& t, const Logic& l, const State& s, i64 d) {
    constexpr i64 LAST = 2;
    i64 feature = s.cut(d, 0), moved = 0;
    for (i64 j = 0; j < t.home.size; ++j) moved += l.counted[j] && s.point[j] != t.home[j];
    i64 home = t.home[feature];
    if (moved + LAST < l.cap || t.symbolic[feature] || s.point[feature] != home) return;
    s.cut(d, 1) = s.cut(d, 1) >= home ? home : home - 1;
}

}  // namespace cfxc::box_search
