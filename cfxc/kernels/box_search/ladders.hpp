// The Lagrangian bound on a sum of trees: they bear the cost of moving together, layer by layer.
//
// Beyond the nearest point p of a box every cell c of a number adds a layer to its cost, w_c.  For
// λ >= 0 and shares a of each layer over the trees (a >= 0, Σ_t a_tc <= 1), all points x of the box
// within the rest r of the radius have
//
//   Σ_t v_t(x) <= λ r + Σ_t max_l (v_l - λ Σ_{c between p and l} a_tc w_c).
//
// The cells at which leaves of a tree begin, seen from the factual, are its rungs; those of one
// feature and direction, from the factual outwards, are a ladder.  Round by round every tree
// chooses a leaf, and its weight grows on the rungs where that begins.  A tree's share of a layer
// is its weight there and beyond it, over that of all trees.  Boxes start from the weights and the
// λ of the box that they were split off.  The cost of a label, and of numbers that ramps read, is
// one layer.
#pragma once
#include "bounds.hpp"

namespace cfxc::box_search {

constexpr double NOTHING = 1e-100;  // weights below this might overflow what is divided by them

// Find the rungs that lie in the box, beyond its nearest point, of each ladder of some trees.
inline void climb_out(const Tables& t, const State& s, i64 d, i64 from, i64 to) {
    for (i64 q = from; q < to; ++q) {
        const i64 j = t.ladder_of[q] / 2, begin = t.start[j], here = begin + s.point[j];
        const bool up = t.ladder_of[q] % 2 == 0;
        i64 r = t.ladder[q], end = t.ladder[q + 1];
        if (!t.whole[j]) {
            const i64 last = begin + (up ? s.last(d, j) : s.first(d, j));
            const i64* cells = t.rung_cell.data;
            if (up ? last <= here : last >= here) {
                end = r;
            } else if (up) {
                r = std::upper_bound(cells + r, cells + end, here) - cells;
                end = std::upper_bound(cells + r, cells + end, last) - cells;
            } else {
                r = std::upper_bound(cells + r, cells + end, here, std::greater()) - cells;
                end = std::upper_bound(cells + r, cells + end, last, std::greater()) - cells;
            }
        }
        s.within(q, 0) = r;
        s.within(q, 1) = end;
    }
}

// From the weights that end at each cell: the cost up to it, each layer per unit of weight.
inline void densities(const Tables& t, const State& s, i64 d) {
    double* density = s.density.data;
    for (i64 j = 0; j < t.home.size; ++j) {
        const i64 begin = t.start[j], here = begin + s.point[j];
        if (t.whole[j]) {
            density[begin] = density[begin] > 0.0 ? 1.0 / density[begin] : 0.0;
            continue;
        }
        auto add_up = [&](i64 end, i64 step) {
            for (i64 c = end - step; (c - here) * step > 0; c -= step)
                density[c] += density[c + step];
            double sum = 0.0;
            for (i64 c = here + step; (end - c) * step >= 0; c += step) {
                if (density[c] > 0.0)
                    sum += static_cast<double>(t.added[c] - t.added[c - step]) / density[c];
                density[c] = sum;
            }
        };
        add_up(begin + s.last(d, j), 1);
        add_up(begin + s.first(d, j), -1);
    }
}

// Set what leaves pay that begin at the rungs, with the weights of `before` times `decay`.
inline void price(const Tables& t, const State& s, i64 d, i64 from, i64 to, const double* before,
                  double decay) {
    double* weight = s.weights[d + 1];
    for (i64 j = 0; j < t.home.size; ++j) {
        double* density = s.density.data + t.start[j];
        if (t.whole[j])
            density[0] = 0.0;
        else
            std::fill(density + s.first(d, j), density + s.last(d, j) + 1, 0.0);
    }
    for (i64 q = from; q < to; ++q)
        for (i64 r = s.within(q, 0); r < s.within(q, 1); ++r) {
            weight[r] = before[r] * decay > NOTHING ? before[r] * decay : 0.0;
            s.density[t.rung_cell[r]] += weight[r];
        }
    densities(t, s, d);
    for (i64 q = from; q < to; ++q) {
        const i64 first = s.within(q, 0), last = s.within(q, 1);
        double beyond = 0.0, paid = 0.0, below = 0.0;
        for (i64 r = last - 1; r >= first; --r) s.price[r] = beyond += weight[r];
        for (i64 r = first; r < last; ++r) {
            const double here = s.density[t.rung_cell[r]];
            s.price[r] = paid += s.price[r] * (here - below);
            below = here;
        }
    }
}

// What a leaf pays for one of its conditions, which lies beyond the nearest point.
inline double paid_for(const Tables& t, const State& s, i64 i) {
    const double price = s.price[t.rung[i]];
    return t.whole[t.feature[i]] ? static_cast<double>(s.more[i]) * price : price;
}

// What a leaf pays for its distance from the nearest point.
inline double paid_by(const Tables& t, const State& s, i64 slot) {
    double paid = 0.0;
    for (i64 i = t.condition[slot]; i < t.condition[slot + 1]; ++i)
        if (s.more[i] > 0) paid += paid_for(t, s, i);
    return paid;
}

// Σ_t max_l (v_l - λ paid_l) over the reachable leaves, and what the chosen ones pay.
inline double share(const Tables& t, const State& s, i64 d, i64 first, i64 last, double multiplier,
                    double& total) {
    const u64* reach = s.reach[d];
    double bound = 0.0;
    total = 0.0;
    for (i64 tree = first; tree < last; ++tree) {
        double largest = -INF, spent = 0.0;
        i64 chosen = 0;
        for (i64 w = t.first_word[tree]; w < t.first_word[tree + 1]; ++w) {
            for (u64 bits = reach[w]; bits; bits &= bits - 1) {
                const i64 slot = 64 * w + lowest(bits);
                if (t.value[slot] <= largest) break;
                const double paid = paid_by(t, s, slot);
                if (t.value[slot] - multiplier * paid > largest) {
                    largest = t.value[slot] - multiplier * paid;
                    spent = paid;
                    chosen = slot;
                }
            }
        }
        bound += largest;
        total += spent;
        s.top[tree] = largest;
        s.chosen[tree] = chosen;
    }
    return bound;
}

// Let the trees whose chosen leaf lies beyond the nearest point bear more of its cost.
inline void reshare(const Tables& t, const State& s, i64 d, i64 first, i64 last) {
    for (i64 tree = first; tree < last; ++tree) {
        const i64 slot = s.chosen[tree];
        for (i64 i = t.condition[slot]; i < t.condition[slot + 1]; ++i)
            if (s.more[i] > 0) s.weights(d + 1, t.rung[i]) += 1.0;
    }
}

// The requirement whose largest leaves exceed what it needs by least; -1 if the point holds.
inline i64 tightest(const Tables& t, const State& s) {
    i64 k = -1;
    double least = INF;
    for (i64 each = 0; each < t.need.size; ++each) {
        const double gap = s.most[each] - t.need[each], lead = s.most[each] - s.now[each];
        if (s.now[each] < t.need[each] && lead > 0 && gap / lead < least) {
            k = each;
            least = gap / lead;
        }
    }
    return k;
}

// The requirement whose trees share costs in the box at level d; -1 if none do.
inline i64 prices(const State& s, i64 d) {
    return s.heir[d + 1] == d + 1 ? s.tightest[d + 1] : -1;
}

// Whether the largest leaves of some trees cost anything.
inline bool costs_something(const Tables& t, const State& s, i64 d, i64 first, i64 last) {
    for (i64 tree = first; tree < last; ++tree) {
        const i64 slot = best(t, s.reach[d], tree);
        for (i64 i = t.condition[slot]; i < t.condition[slot + 1]; ++i)
            if (s.more[i] > 0) return true;
    }
    return false;
}

// Whether the bound closes the box for the requirement that is tightest.
inline bool misses_when_sharing(const Tables& t, const State& s, i64 d, i64 rest) {
    constexpr int ROUNDS = 4;
    constexpr double DECAY = 0.8, STEP = 1.1;
    const i64 k = tightest(t, s);
    if (k < 0 || rest <= 0) return false;
    const i64 first = t.first_tree[k], last = t.first_tree[k + 1], above = s.heir[d];
    if (!costs_something(t, s, d, first, last)) return false;
    const double room = static_cast<double>(rest), goal = t.need[k] - t.slack[k];
    const double largest = 1e10 * t.slack[k] / room;  // beyond all values, where bounds round off
    const i64 from = t.first_ladder[first], to = t.first_ladder[last];
    double& multiplier = s.multiplier[d + 1];
    climb_out(t, s, d, from, to);
    s.heir[d + 1] = d + 1;
    s.tightest[d + 1] = k;
    if (s.multiplier[above] > 0.0 && s.tightest[above] == k) {
        multiplier = s.multiplier[above];
        price(t, s, d, from, to, s.weights[above], DECAY);
    } else {
        multiplier = larger(s.most[k] - t.need[k], t.slack[k]) / room;
        price(t, s, d, from, to, s.weights[d + 1], 0.0);
        for (i64 tree = first; tree < last; ++tree) s.chosen[tree] = best(t, s.reach[d], tree);
        reshare(t, s, d, first, last);
        price(t, s, d, from, to, s.weights[d + 1], 1.0);
    }
    for (int round = 1;; ++round) {
        double paid;
        const double bound = share(t, s, d, first, last, multiplier, paid) + multiplier * room;
        s.excess[0] = bound - goal;
        s.last_multiplier[0] = multiplier;
        if (bound < goal) {
            s.control[DECIDING] = k;
            return true;
        }
        multiplier = smaller(multiplier * (paid > room ? STEP : 1.0 / STEP), largest);
        reshare(t, s, d, first, last);
        if (round == ROUNDS) return false;
        price(t, s, d, from, to, s.weights[d + 1], DECAY);
    }
}

}  // namespace cfxc::box_search
