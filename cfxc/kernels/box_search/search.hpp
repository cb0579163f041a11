// The search itself: depth-first over boxes of cells, resumable.
//
// A box is closed once its nearest point lies beyond the radius, the constraints fail all over it,
// or the largest sums that its leaves allow miss what some requirement needs.  What is left is
// split on the cut that strong branching likes best, nearer half first.
#pragma once
#include "boxes.hpp"
#include "branching.hpp"
#include "constraints.hpp"
#include "ladders.hpp"
#include "ramps.hpp"

namespace cfxc::box_search {

// Close the box at level d, find that its nearest point holds, or choose how to split it.
inline Code look(const Tables& t, const Logic& l, const State& s, i64 d) {
    auto closed = [&](Fate fate) {
        s.control[CLOSED_BY] = fate;
        return DONE;
    };
    closed(SPLIT);
    s.heir[d + 1] = s.heir[d];
    i64 radius = s.control[RADIUS];
    Nearest n = nearest(t, s, d);
    i64 rest = radius - n.spent - n.top;
    if (rest < 0) return closed(BY_DISTANCE);
    narrow(t, s, d, radius, n);
    i64 inside = admitted(t, l, s, d);
    if (inside == 0) return closed(BY_CONSTRAINT);
    if (l.cap >= 0 && confine(t, l, s, d)) return DONE;
    if (misses(t, s, s.reach[d])) return closed(BY_SUM);
    drop_leaves(t, s, d, radius, n.spent, n.top);
    if (misses(t, s, s.reach[d])) return closed(BY_SUM);
    bool holds = holds_at_point(t, s, d);
    if (t.ramps.first >= 0) {
        if (misses_on_ramps(t, s, d, radius, n)) return closed(BY_SHARING);
        if (decides_at_point(t, s, d) || (holds && s.forced[d])) {
            if (part_from_aim(t, s, d)) return DONE;
            return s.forced[d] ? ALONE : AIM;
        }
    }
    if (holds) {
        if (!s.forced[d] && (inside == 2 || admitted_point(t, l, s) > 0)) return POINT;
        return halve(t, l, s, d, inside) ? DONE : ALONE;
    }
    if (misses_when_sharing(t, s, d, rest)) return closed(BY_SHARING);
    i64 count = weigh(t, s, d);
    bool chosen = strongest(t, s, d, count, rest);
    forget(s, count);
    if (chosen && l.cap >= 0) edge(t, l, s, d);
    return chosen || halve(t, l, s, d, 2) ? DONE : ALONE;
}

// Put one side of the split at level d on the level below: lower cells or the label, or not.
inline void enter(const Tables& t, const State& s, i64 d, bool lower) {
    i64 e = d + 1, j = s.cut(d, 0), cell = s.cut(d, 1), features = s.first.columns;
    std::copy_n(s.first[d], features, s.first[e]);
    std::copy_n(s.last[d], features, s.last[e]);
    std::copy_n(s.sets(d), features * s.label_words, s.sets(e));
    std::copy_n(s.reach[d], s.reach.columns, s.reach[e]);
    if (t.symbolic[j]) {
        u64 bit = u64{1} << (cell % 64), *set = s.set(e, j);
        if (lower) {
            std::fill_n(set, s.label_words, u64{0});
            set[cell / 64] = bit;
        } else
            set[cell / 64] &= ~bit;
        meet_labels(t, s, e, j);
    } else if (lower) {
        s.last(e, j) = cell;
        meet_upto(t, s.reach[e], j, cell);
    } else {
        s.first(e, j) = cell + 1;
        meet_since(t, s.reach[e], j, cell + 1);
    }
}

// Open the side of the split at level d whose turn it is.
inline void descend(const Tables& t, const State& s, const Log& log, i64 d) {
    i64 j = s.cut(d, 0), cell = s.cut(d, 1), e = d + 1;
    bool nearer = s.phase[d] == NEARER;
    i64 point = smaller(larger(t.home[j], s.first(d, j)), s.last(d, j));
    bool lower = t.symbolic[j] ? nearer : (point <= cell) == nearer;
    enter(t, s, d, lower);
    ++s.phase[d];
    s.phase[e] = OPEN;
    s.forced[e] = nearer && s.forced[d];
    i64 box = s.control[BOXES]++;
    s.box[e] = box;
    log.parent[box] = static_cast<std::int32_t>(s.box[d]);
    log.side[box] = !lower;
    s.control[DEPTH] = e;
}

// Go on until nothing is open, a point holds, or the limit of boxes is reached.
inline Code run(const Tables& t, const Logic& l, const State& s, const Log& log) {
    auto& control = s.control;
    while (control[DEPTH] >= 0) {
        i64 d = control[DEPTH];
        if (s.phase[d] == CLOSED) {
            --control[DEPTH];
            continue;
        }
        if (s.phase[d] != OPEN) {
            descend(t, s, log, d);
            continue;
        }
        if (control[LOOKS] >= control[LIMIT]) return PAUSE;
        if (d + 2 >= s.phase.size || control[BOXES] + 2 >= log.parent.size) return FULL;
        ++control[LOOKS];
        Code verdict = look(t, l, s, d);
        if (verdict == POINT || verdict == ALONE || verdict == AIM) return verdict;
        s.phase[d] = control[CLOSED_BY] ? CLOSED : NEARER;
        i64 box = s.box[d];
        bool split = control[CLOSED_BY] == SPLIT;
        log.fate[box] = static_cast<std::int8_t>(control[CLOSED_BY]);
        log.radius[box] = control[RADIUS];
        log.what[box] = static_cast<std::int32_t>(split ? s.cut(d, 0) : control[DECIDING]);
        log.where[box] = static_cast<std::int32_t>(split ? s.cut(d, 1) : 0);
    }
    return DONE;
}

// Look again at the boxes of a path from the root, to see how its last was closed.
inline void retrace(const Tables& t, const Logic& l, const State& s, Matrix<const i64> cuts,
                    Vector<const std::int8_t> sides, Vector<const i64> radii) {
    for (i64 d = 0; d < radii.size; ++d) {
        s.control[RADIUS] = radii[d];
        look(t, l, s, d);
        if (d < cuts.rows) {
            s.cut(d, 0) = cuts(d, 0);
            s.cut(d, 1) = cuts(d, 1);
            enter(t, s, d, sides[d] == 0);
        }
    }
}

// Put the side of the split at level d that is still to come on another stack, alone.
//
// Returns whether it is the lower side.
inline bool hand_over(const Tables& t, const State& s, i64 d, const State& o) {
    i64 j = s.cut(d, 0), features = s.first.columns;
    i64 point = smaller(larger(t.home[j], s.first(d, j)), s.last(d, j));
    bool lower = !t.symbolic[j] && point > s.cut(d, 1);
    auto copy = [&](const State& from, i64 at) {
        std::copy_n(from.first[at], features, o.first[0]);
        std::copy_n(from.last[at], features, o.last[0]);
        std::copy_n(from.sets(at), features * s.label_words, o.sets(0));
        std::copy_n(from.reach[at], s.reach.columns, o.reach[0]);
    };
    copy(s, d);
    o.cut(0, 0) = j;
    o.cut(0, 1) = s.cut(d, 1);
    enter(t, o, 0, lower);
    copy(o, 1);
    const i64 heir = s.heir[d + 1];
    std::copy_n(s.weights[heir], s.weights.columns, o.weights[0]);
    o.multiplier[0] = s.multiplier[heir];
    o.tightest[0] = s.tightest[heir];
    o.control[RADIUS] = s.control[RADIUS];
    s.phase[d] = CLOSED;
    return lower;
}

}  // namespace cfxc::box_search
