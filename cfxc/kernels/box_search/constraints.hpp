// Constraints over boxes: every term of a formula as an interval, truth values as 0 and 1.
//
// A box whose formula is [0, 0] holds no admissible point, one of [1, 1] only such; [0, 1] is not
// known.
#pragma once
#include "state.hpp"

namespace cfxc::box_search {

// 0 if the formula fails everywhere in a box of cells, 2 if it holds everywhere, else 1.
//
// `least`, `largest`: the values at the ends of cells; `first`, `last`, `labels`: the box.
inline i64 truth(const Tables& t, const Logic& l, const double* least, const double* largest,
                 const i64* first, const i64* last, const u64* labels, i64 words, double* low,
                 double* high) {
    constexpr double WHOLE = 9007199254740992.0, WIDEN = 1e-12;
    for (i64 i = 0; i < l.kind.size; ++i) {
        i64 kind = l.kind[i], begin = l.start[i], end = l.start[i + 1], j = l.what[i],
            code = l.code[i];
        low[i] = l.low[i];
        high[i] = l.high[i];
        const i64* of = l.operand.data + begin;
        switch (kind) {
            case NUMBER:
            case BELOW: {
                double bottom = least[t.start[j] + first[j]], top = largest[t.start[j] + last[j]];
                if (kind == NUMBER) {
                    low[i] = bottom;
                    high[i] = top;
                } else {
                    low[i] = top <= l.low[i];
                    high[i] = bottom <= l.low[i];
                }
                break;
            }
            case LABEL: {
                bool others = false, held = false;
                for (i64 w = 0; w < words; ++w) {
                    u64 set = labels[j * words + w],
                        bit = w == code / 64 ? u64{1} << (code % 64) : 0;
                    held |= (set & bit) != 0;
                    others |= (set & ~bit) != 0;
                }
                low[i] = held && !others;
                high[i] = held;
                break;
            }
            case SUM: {
                double size = larger(std::abs(low[i]), std::abs(high[i]));
                bool whole = low[i] == std::rint(low[i]) && std::rint(low[i]) == high[i];
                for (i64 a = begin; a < end; ++a) {
                    i64 x = l.operand[a];
                    double f = l.factor[a];
                    whole = whole && f == std::rint(f) && low[x] == std::rint(low[x]) &&
                            high[x] == std::rint(high[x]);
                    low[i] += f * (f > 0 ? low[x] : high[x]);
                    high[i] += f * (f > 0 ? high[x] : low[x]);
                    size += std::abs(f) * larger(std::abs(low[x]), std::abs(high[x]));
                }
                if (!(whole && size < WHOLE)) {
                    low[i] -= WIDEN * size;
                    high[i] += WIDEN * size;
                }
                break;
            }
            case CHOICE: {
                i64 c = of[0], x = of[1], y = of[2];
                low[i] = low[c] == 1 ? low[x] : high[c] == 0 ? low[y] : smaller(low[x], low[y]);
                high[i] = low[c] == 1 ? high[x] : high[c] == 0 ? high[y] : larger(high[x], high[y]);
                break;
            }
            case LARGEST:
            case OR: {
                low[i] = high[i] = kind == OR ? 0.0 : -INF;
                for (i64 a = begin; a < end; ++a) {
                    low[i] = larger(low[i], low[l.operand[a]]);
                    high[i] = larger(high[i], high[l.operand[a]]);
                }
                break;
            }
            case AND: {
                low[i] = high[i] = 1.0;
                for (i64 a = begin; a < end; ++a) {
                    low[i] = smaller(low[i], low[l.operand[a]]);
                    high[i] = smaller(high[i], high[l.operand[a]]);
                }
                break;
            }
            case PRODUCT: {
                double bottom = 1.0, top = 1.0;
                for (i64 a = begin; a < end; ++a) {
                    i64 x = l.operand[a];
                    double c0 = bottom * low[x], c1 = bottom * high[x], c2 = top * low[x],
                           c3 = top * high[x];
                    bottom = smaller(smaller(smaller(c0, c1), c2), c3);
                    top = larger(larger(larger(c0, c1), c2), c3);
                    bottom -= WIDEN * std::abs(bottom);
                    top += WIDEN * std::abs(top);
                }
                bool lost = std::isnan(bottom) || std::isnan(top);  // 0 times infinity
                low[i] = lost ? -INF : bottom;
                high[i] = lost ? INF : top;
                break;
            }
            case AT_MOST: {
                i64 x = of[0];
                bool strict = code == 1;
                low[i] = high[x] < l.low[i] || (high[x] == l.low[i] && !strict);
                high[i] = low[x] < l.high[i] || (low[x] == l.high[i] && !strict);
                break;
            }
            case NOT: {
                i64 x = of[0];
                low[i] = 1.0 - high[x];
                high[i] = 1.0 - low[x];
                break;
            }
            default:
                break;
        }
    }
    i64 root = l.kind.size - 1;
    return static_cast<i64>(low[root] + high[root]);
}

// What the constraints say of the box: 0 no point, 2 every point, 1 some perhaps.
inline i64 admitted(const Tables& t, const Logic& l, const State& s, i64 d) {
    if (l.kind.size == 1 && l.kind[0] == CONSTANT) return static_cast<i64>(2 * l.low[0]);
    return truth(t, l, t.least.data, t.largest.data, s.first[d], s.last[d], s.sets(d),
                 s.label_words, s.lower.data, s.upper.data);
}

// What they say of its nearest point.
inline i64 admitted_point(const Tables& t, const Logic& l, const State& s) {
    std::fill_n(s.single.data, s.single.rows * s.single.columns, u64{0});
    for (i64 j = 0; j < t.home.size; ++j)
        if (t.symbolic[j]) s.single(j, s.point[j] / 64) = u64{1} << (s.point[j] % 64);
    return truth(t, l, t.point.data, t.point.data, s.point.data, s.point.data, s.single.data,
                 s.label_words, s.lower.data, s.upper.data);
}

}  // namespace cfxc::box_search
