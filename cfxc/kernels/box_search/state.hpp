// What the search reads and keeps; the fields are those of the named tuples in tables.py, logic.py,
// functions.py and state.py, and the numbers those of state.py and logic.py.
#pragma once
#include "../arrays.hpp"

namespace cfxc::box_search {

enum Code { DONE, POINT, PAUSE, FULL, ALONE, AIM };
enum Phase { OPEN, NEARER, FARTHER, CLOSED };
enum Fate { SPLIT, BY_DISTANCE, BY_SUM, BY_SHARING, BY_CONSTRAINT, BY_SOLVER };
enum Control { DEPTH, LOOKS, RADIUS, LIMIT, BOXES, DECIDING, CLOSED_BY };
enum Kind { CONSTANT, NUMBER, LABEL, BELOW, SUM, CHOICE, LARGEST, PRODUCT, AT_MOST, NOT, AND, OR };

struct Ramps {
    i64 first;
    Vector<const i64> feature;
    Matrix<const double> factor;
    Vector<const double> noise, center, size, flat, slope, square, top;
};
struct Tables {
    Vector<const i64> start;
    Vector<const bool> symbolic;
    Vector<const i64> home, added, peak;
    Vector<const double> point, least, largest;
    Vector<const i64> first_word, first_tree, tree, high, low;
    Vector<const double> value;
    Vector<const i64> need_high, need_low;
    Vector<const double> need, slack;
    i64 shift;
    Ramps ramps;
    Vector<const i64> condition, feature, first, last;
    Matrix<const u64> labels;
    Vector<const i64> cheapest;
    i64 stride;
    Vector<const i64> block, begins, beginning, ends, ending;
    Matrix<const u64> upto, since;
    Vector<const u64> full;
    Vector<const bool> whole;
    Vector<const i64> rung, rung_cell, ladder, ladder_of, first_ladder;
};
struct Logic {
    Vector<const i64> kind, start, operand;
    Vector<const double> factor, low, high;
    Vector<const i64> what, code;
    Vector<const bool> used, counted;
    i64 cap;
};
struct State {
    Vector<i64> control;
    Matrix<i64> first, last;
    u64* labels;
    i64 label_words;  // (D, J, L)
    Matrix<u64> reach;
    Vector<i64> phase;
    Vector<bool> forced;
    Vector<i64> box;
    Matrix<i64> cut;
    Vector<i64> point;
    Vector<u64> holding, side;
    Vector<i64> current;
    Vector<double> most, now, weight;
    Vector<i64> touched;
    Vector<i64> chosen;
    Matrix<u64> single;
    Vector<double> lower, upper;
    Vector<i64> more, between;
    Matrix<double> weights;
    Vector<i64> heir, tightest;
    Vector<double> multiplier, density, price, top, excess, last_multiplier;
    Matrix<i64> within;
    Vector<double> aim, beyond, trial;
    u64* sets(i64 d) const { return labels + d * point.size * label_words; }
    u64* set(i64 d, i64 j) const { return sets(d) + j * label_words; }
};
struct Log {
    Vector<std::int32_t> parent;
    Vector<std::int8_t> side, fate;
    Vector<std::int32_t> what, where;
    Vector<i64> radius;
};

}  // namespace cfxc::box_search
