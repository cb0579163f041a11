// Views of arrays that numpy owns, and sets of bits, 64 to a word.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace cfxc {

using i64 = std::int64_t;
using u64 = std::uint64_t;
constexpr double INF = std::numeric_limits<double>::infinity();
constexpr i64 NEVER = i64{1} << 60;  // costs of at least this are out of every radius

template <class T>
struct Vector {
    T* data = nullptr;
    i64 size = 0;
    T& operator[](i64 i) const { return data[i]; }
    T* begin() const { return data; }
    T* end() const { return data + size; }
};

template <class T>
struct Matrix {
    T* data = nullptr;
    i64 rows = 0, columns = 0;
    T* operator[](i64 i) const { return data + i * columns; }
    T& operator()(i64 i, i64 j) const { return data[i * columns + j]; }
};

// As std::max and std::min, of two values of one type; a NaN in the second place is passed over.
template <class T>
T larger(T a, T b) {
    return b > a ? b : a;
}
template <class T>
T smaller(T a, T b) {
    return b < a ? b : a;
}

inline bool has(const u64* set, i64 code) {
    return set[code / 64] >> (code % 64) & 1;
}
inline u64 bit_of(i64 code) {
    return u64{1} << (code % 64);
}
inline i64 lowest(u64 bits) {
    return std::countr_zero(bits);
}
inline i64 highest(u64 bits) {
    return 63 - std::countl_zero(bits);
}

inline void meet(u64* set, const u64* other, i64 words) {
    for (i64 w = 0; w < words; ++w) set[w] &= other[w];
}
inline void join(u64* set, const u64* other, i64 words) {
    for (i64 w = 0; w < words; ++w) set[w] |= other[w];
}

}  // namespace cfxc
