// Which leaves a box that ends or starts at a cell still meets.
//
// Of numbers there is a row of bits for every `stride`-th cell and for the last one, and beside
// them the leaves whose condition begins or ends at each cell: a row for every cell would take more
// memory than the search itself touches, and longer to fill.  Of labels each has its row.
#pragma once
#include "state.hpp"

namespace cfxc::box_search {

inline void drop(u64* set, const Vector<const i64>& slots, i64 first, i64 last) {
    for (i64 i = first; i < last; ++i) set[slots[i] / 64] &= ~bit_of(slots[i]);
}

// Where the row of a number's cell c is, and the cell that it belongs to: c or the next that has
// one.
struct Place {
    i64 row, cell;
};
inline Place above(const Tables& t, i64 j, i64 c) {
    const i64 k = (c + t.stride - 1) / t.stride;
    return {t.block[j] + k, smaller(k * t.stride, t.start[j + 1] - t.start[j] - 1)};
}
inline Place below(const Tables& t, i64 j, i64 c) {
    const i64 k = c / t.stride;
    return {t.block[j] + k, k * t.stride};
}

// Drop the leaves that begin beyond cell c of a number.
inline void meet_upto(const Tables& t, u64* set, i64 j, i64 c) {
    const Place at = above(t, j, c);
    meet(set, t.upto[at.row], t.full.size);
    const i64 begin = t.start[j] + 1;
    drop(set, t.beginning, t.begins[begin + c], t.begins[begin + at.cell]);
}

// Drop the leaves that end before cell c of a number.
inline void meet_since(const Tables& t, u64* set, i64 j, i64 c) {
    const Place at = below(t, j, c);
    meet(set, t.since[at.row], t.full.size);
    drop(set, t.ending, t.ends[t.start[j] + at.cell], t.ends[t.start[j] + c]);
}

// The row of cell c itself, made in `scratch` where there is none.
inline const u64* upto_row(const Tables& t, i64 j, i64 c, u64* scratch) {
    const Place at = above(t, j, c);
    if (at.cell == c) return t.upto[at.row];
    std::fill_n(scratch, t.full.size, ~u64{0});
    meet_upto(t, scratch, j, c);
    return scratch;
}
inline const u64* since_row(const Tables& t, i64 j, i64 c, u64* scratch) {
    const Place at = below(t, j, c);
    if (at.cell == c) return t.since[at.row];
    std::fill_n(scratch, t.full.size, ~u64{0});
    meet_since(t, scratch, j, c);
    return scratch;
}

inline const u64* label_row(const Tables& t, i64 j, i64 code) {
    return t.upto[t.block[j] + code];
}

}  // namespace cfxc::box_search
