// The inner loop of the region search: one box of columns bounded, narrowed and split.
//
// Columns are n base columns followed by K units h_k = max(z_k, 0), or a smooth function of z_k,
// with z_k affine in base columns and earlier units.  `plain` rows have no units: they and the
// budget narrow a box; the other `rows` refute it under the linear relaxation of the units.  All
// bounds carry a bound on their own rounding, so that a box is closed only if no point of it, in
// exact arithmetic, satisfies the rows within the budget.
#include "curves.hpp"
#include "kernels.hpp"
#include "python.hpp"

namespace cfxc {
namespace {

constexpr double EPS = 0x1p-50;  // four units of rounding per operation
constexpr int ROUNDS = 2;        // of narrowing
constexpr int RELAID = 1;        // times that lines are laid anew, where a bound is largest
constexpr int PASSES = 4;        // of bounding a box, as long as it shrinks
constexpr double SHRUNK = 0.3;   // by so much of a width at least
constexpr int HALVINGS = 10;     // of the range of the budget's multiplier; it need not be the best
constexpr double LEAST = 1e-300;  // below, roundings are no share of what is rounded

// The fields of `Problem` of regions.py, and the radius in force.
struct Problem {
    Vector<const bool> whole, named, deep;
    Matrix<const double> z;
    Vector<const double> z0;
    Matrix<const double> root, rows;
    Vector<const double> row_low, row_high;
    Matrix<const double> plain;
    Vector<const double> plain_low, plain_high, cost;
    Vector<const i64> group;
    Matrix<const i64> members;
    Vector<const i64> partner;
    Matrix<const double> reach;
    Vector<const double> fine;
    Vector<const i64> curved;  // which function; -1: max(z, 0)
    double radius;
    i64 n, units, width;

    Problem(nb::handle given, double limit) : radius(limit) {
        Fields read{given};
#define READ(name) read(#name, name)
        READ(whole);
        READ(named);
        READ(deep);
        READ(z);
        READ(z0);
        READ(root);
        READ(rows);
        READ(row_low);
        READ(row_high);
        READ(plain);
        READ(plain_low);
        READ(plain_high);
        READ(cost);
        READ(group);
        READ(members);
        READ(partner);
        READ(reach);
        READ(fine);
        READ(curved);
#undef READ
        n = whole.size;
        units = z0.size;
        width = n + units;
    }
};

struct Box {
    double *low, *high;
};

// Whether a column is worth shrinking: one that is finer than it would be split is left alone, else
// a few rows take it below the smallest doubles round by round, where no share bounds a rounding.
bool is_wide(const Problem& p, Box box, i64 j) {
    const double wide = box.high[j] - box.low[j];
    return wide > 0.0 && (p.whole[j] || wide > p.fine[j]);
}

// Each column within what a row leaves it, with the others at their best; whether it can be.
bool propagate(const Problem& p, Box box) {
    const auto [low, high] = box;
    for (i64 r = 0; r < p.plain.rows; ++r)
        for (const double sign : {1.0, -1.0}) {
            const double end = sign > 0 ? p.plain_low[r] : -p.plain_high[r];
            if (!std::isfinite(end)) continue;
            double most = 0.0, size = std::abs(end);
            for (i64 j = 0; j < p.n; ++j) {
                const double factor = sign * p.plain(r, j);
                most += factor * (factor > 0 ? high[j] : low[j]);
                size += std::abs(factor) * larger(std::abs(low[j]), std::abs(high[j]));
            }
            const double room = most - end + EPS * static_cast<double>(p.n + 8) * size + LEAST;
            if (room < 0) return false;
            for (i64 j = 0; j < p.n; ++j) {
                const double factor = sign * p.plain(r, j);
                if (factor == 0.0 || !is_wide(p, box, j)) continue;
                const double step = room / std::abs(factor) * (1 + 16 * EPS);
                if (step >= high[j] - low[j]) continue;
                if (factor > 0) {
                    double bound = high[j] - step;
                    bound -= std::abs(bound) * 4 * EPS + std::abs(high[j]) * 4 * EPS;
                    low[j] = larger(low[j], p.whole[j] ? std::ceil(bound - 1e-9) : bound);
                } else {
                    double bound = low[j] + step;
                    bound += std::abs(bound) * 4 * EPS + std::abs(low[j]) * 4 * EPS;
                    high[j] = smaller(high[j], p.whole[j] ? std::floor(bound + 1e-9) : bound);
                }
            }
        }
    return true;
}

// The label of group g that the box demands, its least cost into `best`; false if none is left.
bool choose(const Problem& p, Box box, i64 g, double& best) {
    const auto [low, high] = box;
    i64 demanded = -1, count = 0, last = -1;
    best = INF;
    for (i64 i = 0; i < p.members.columns; ++i) {
        const i64 j = p.members(g, i);
        if (j < 0 || high[j] <= 0) continue;
        ++count;
        last = j;
        best = smaller(best, p.cost[j]);
        if (low[j] > 0) demanded = j;  // a row demands this label
    }
    if (demanded >= 0) {
        best = p.cost[demanded];
        for (i64 i = 0; i < p.members.columns; ++i)
            if (const i64 j = p.members(g, i); j >= 0 && j != demanded) high[j] = 0.0;
    }
    if (best == INF) return false;
    if (count == 1) low[last] = 1.0;
    return true;
}

// The budget's share of `narrow`.
double afford(const Problem& p, Box box) {
    const auto [low, high] = box;
    double least = 0.0, size = 0.0;
    for (i64 j = 0; j < p.n; ++j) {
        if (p.partner[j] >= 0 && low[j] > 0) high[p.partner[j]] = 0.0;
        if (low[j] > high[j]) return INF;
        if (p.group[j] < 0) {
            least += smaller(p.cost[j] * low[j], p.cost[j] * high[j]);
            size += std::abs(p.cost[j]) * larger(std::abs(low[j]), std::abs(high[j]));
        }
    }
    std::vector<double> cheapest(p.members.rows);
    for (i64 g = 0; g < p.members.rows; ++g) {
        if (!choose(p, box, g, cheapest[g])) return INF;
        least += cheapest[g];
        size += std::abs(cheapest[g]);
    }
    const double slack = EPS * static_cast<double>(p.n + 8) * (size + std::abs(p.radius)) + LEAST;
    const double left = p.radius - least + slack;
    if (left < 0) return INF;
    for (i64 j = 0; j < p.n; ++j) {
        if (p.group[j] >= 0) {
            if (high[j] > 0 && p.cost[j] - cheapest[p.group[j]] > left) high[j] = 0.0;
        } else if (p.cost[j] > 0 && is_wide(p, box, j)) {
            double most = low[j] + left / p.cost[j] * (1 + 16 * EPS);
            most += std::abs(most) * 4 * EPS;
            high[j] = smaller(high[j], p.whole[j] ? std::floor(most + 1e-9) : most);
        }
    }
    return least - slack;
}

// Shrink a box to what plain rows and the budget leave; a lower bound of what its points cost,
// infinity if nothing is left.
double narrow(const Problem& p, Box box) {
    double least = 0.0;
    for (int round = 0; round < ROUNDS; ++round) {
        if (!propagate(p, box)) return INF;
        least = afford(p, box);
        if (least == INF) return INF;
    }
    return least;
}

// The linear relaxation of the units over a box, and room for forms.
struct Relaxation {
    std::vector<int> state;                         // -1 off, 1 on, 0 open
    std::vector<double> low, high;                  // of z
    std::vector<double> slope, offset, tilt, base;  // of open units: the lines above and below
    std::vector<double> top;                        // |h| is at most this
    std::vector<double> rest, weight, gaps, form;
    double multiplier = 0.0;  // of the budget

    explicit Relaxation(const Problem& p)
        : state(p.units), low(p.units), high(p.units), slope(p.units), offset(p.units),
          tilt(p.units), base(p.units), top(p.units), rest(p.width), weight(p.width), gaps(p.units),
          form(p.width) {}

    // Lay the lines of an open unit, close to it at a point.
    void lay(const Problem& p, i64 k, double near) {
        const double lower = low[k], upper = high[k];
        if (p.curved[k] >= 0) {
            const Affine over = cfxc::above(p.curved[k], lower, upper, near);
            const Affine under = cfxc::below(p.curved[k], lower, upper, near);
            slope[k] = over.slope;
            offset[k] = over.offset;
            tilt[k] = under.slope;
            base[k] = under.offset;
            return;
        }
        const double steep = upper / (upper - lower);
        slope[k] = steep;
        offset[k] = larger(-steep * lower, upper - steep * upper) + 8 * EPS * upper;
        tilt[k] = near > 0 ? 1.0 : 0.0;
    }

    // How far below the unit's greatest value its least one is, with z in the middle.
    double apart(const Problem& p, i64 k) const {
        if (p.curved[k] < 0) return tilt[k] == 0 ? top[k] : offset[k];
        return (slope[k] - tilt[k]) * (low[k] + high[k]) / 2 + offset[k] - base[k];
    }
};

// What the point costs where rest - multiplier * cost is largest.
double spent(const Problem& p, Box box, const std::vector<double>& rest, double multiplier) {
    const auto [low, high] = box;
    double total = 0.0;
    for (i64 j = 0; j < p.n; ++j)
        if (p.group[j] < 0 && p.cost[j] != 0.0)
            total += p.cost[j] * (rest[j] > multiplier * p.cost[j] ? high[j] : low[j]);
    for (i64 g = 0; g < p.members.rows; ++g) {
        double best = -INF, paid = 0.0;
        for (i64 i = 0; i < p.members.columns; ++i) {
            const i64 j = p.members(g, i);
            if (j < 0 || high[j] <= 0) continue;
            const double value = rest[j] - multiplier * p.cost[j];
            if (value > best) {
                best = value;
                paid = p.cost[j];
            }
        }
        total += paid;
    }
    return total;
}

// About the best multiplier of the budget: 0 if the largest point can be paid for.
double multiplier_of(const Problem& p, Box box, const std::vector<double>& rest) {
    if (spent(p, box, rest, 0.0) <= p.radius) return 0.0;
    double bottom = 0.0, top = 0.0;
    for (i64 j = 0; j < p.n; ++j)
        if (p.cost[j] != 0.0 && box.high[j] > box.low[j])
            top = larger(top, std::abs(rest[j] / p.cost[j]));
    top *= 1.001;
    for (int halving = 0; halving < HALVINGS; ++halving) {
        const double middle = (bottom + top) / 2;
        (spent(p, box, rest, middle) > p.radius ? bottom : top) = middle;
    }
    return top;
}

// An upper bound of a form over a box, by back-substitution through the units below `depth`.
//
// Leaves the form over base columns, less what the budget takes, in `rest`, and in `gaps` how much
// the open units may have cost.
double above(const Problem& p, Box box, Relaxation& x, const double* form, double constant,
             i64 depth) {
    const auto [low, high] = box;
    for (i64 i = 0; i < p.n + depth; ++i) {
        x.rest[i] = form[i];
        x.weight[i] = std::abs(form[i]);
    }
    double slack = std::abs(constant), operations = static_cast<double>(p.n + 16);
    for (i64 k = depth - 1; k >= 0; --k) {
        const double factor = x.rest[p.n + k];
        x.gaps[k] = 0.0;
        slack += x.weight[p.n + k] * x.top[k];
        if (factor == 0.0 || x.state[k] < 0) continue;
        operations += 4;
        double shift = 0.0, part = factor;
        if (x.state[k] == 0) {
            part = factor * (factor > 0 ? x.slope[k] : x.tilt[k]);
            shift = factor * (factor > 0 ? x.offset[k] : x.base[k]);
            x.gaps[k] = p.curved[k] < 0 && factor > 0 ? shift : std::abs(factor) * x.apart(p, k);
        }
        constant += part * p.z0[k] + shift;
        slack += std::abs(part * p.z0[k]) + std::abs(shift);
        if (part == 0.0) continue;
        const i64 last = p.deep[k] ? p.n + k : p.n;
        const double* z = p.z[k];
        for (i64 i = 0; i < last; ++i) {
            const double value = part * z[i];
            x.rest[i] += value;
            x.weight[i] += std::abs(value);
        }
    }
    const double multiplier = x.multiplier = multiplier_of(p, box, x.rest);
    double total = constant + multiplier * p.radius;
    slack += multiplier * std::abs(p.radius);
    for (i64 j = 0; j < p.n; ++j) {
        if (multiplier > 0) {
            x.rest[j] -= multiplier * p.cost[j];
            x.weight[j] += multiplier * std::abs(p.cost[j]);
        }
        slack += x.weight[j] * larger(std::abs(low[j]), std::abs(high[j]));
        if (p.group[j] < 0) total += x.rest[j] * (x.rest[j] > 0 ? high[j] : low[j]);
    }
    for (i64 g = 0; g < p.members.rows; ++g) {
        double best = -INF;
        for (i64 i = 0; i < p.members.columns; ++i)
            if (const i64 j = p.members(g, i); j >= 0 && high[j] > 0)
                best = larger(best, x.rest[j]);
        total += best;
    }
    return total + operations * EPS * slack + LEAST;
}

// A unit's value where z is known.
double applied(const Problem& p, i64 k, double z) {
    return p.curved[k] < 0 ? larger(z, 0.0) : curve_value(p.curved[k], z);
}

// The ranges of the units over a box, and with them their relaxation.
void relax(const Problem& p, Box box, Relaxation& x) {
    std::fill(x.state.begin(), x.state.end(), 0);
    for (auto* values : {&x.slope, &x.offset, &x.tilt, &x.base, &x.top, &x.gaps})
        std::fill(values->begin(), values->end(), 0.0);
    for (i64 k = 0; k < p.units; ++k) {
        const i64 depth = p.deep[k] ? k : 0;
        const bool bent = p.curved[k] < 0;
        const double upper = smaller(above(p, box, x, p.z[k], p.z0[k], depth), p.root(1, k));
        if (bent && upper <= 0) {
            x.state[k] = -1;
            continue;
        }
        for (i64 i = 0; i < p.n + depth; ++i) x.form[i] = -p.z(k, i);
        const double least = -above(p, box, x, x.form.data(), -p.z0[k], depth);
        const double lower = smaller(larger(least, p.root(0, k)), upper);
        x.low[k] = lower;
        x.high[k] = upper;
        x.top[k] = bent ? upper
                        : larger(1.0, larger(std::abs(applied(p, k, lower)),
                                             std::abs(applied(p, k, upper))));
        if (bent && lower >= 0)
            x.state[k] = 1;
        else
            x.lay(p, k, bent ? upper + lower : (lower + upper) / 2);
    }
}

// Shares of the columns in the looseness of a bound, and its largest point.
void aim(const Problem& p, Box box, const Relaxation& x, double* spread, double* corner) {
    const auto [low, high] = box;
    std::fill_n(spread, p.n, 0.0);
    for (i64 k = 0; k < p.units; ++k) {
        if (x.gaps[k] <= 0.0) continue;
        double total = 0.0;
        for (i64 j = 0; j < p.n; ++j) total += p.reach(k, j) * (high[j] - low[j]);
        if (total > 0.0)
            for (i64 j = 0; j < p.n; ++j)
                spread[j] += x.gaps[k] * p.reach(k, j) * (high[j] - low[j]) / total;
    }
    for (i64 j = 0; j < p.n; ++j) {
        spread[j] += 1e-3 * std::abs(x.rest[j]) * (high[j] - low[j]);
        corner[j] = p.group[j] >= 0 ? 0.0 : x.rest[j] > 0 ? high[j] : low[j];
    }
    for (i64 g = 0; g < p.members.rows; ++g) {
        double best = -INF;
        i64 at = -1;
        for (i64 i = 0; i < p.members.columns; ++i)
            if (const i64 j = p.members(g, i); j >= 0 && high[j] > 0 && x.rest[j] > best) {
                best = x.rest[j];
                at = j;
            }
        if (at >= 0) corner[at] = 1.0;
    }
}

// Lay the lines of all open units anew, close to them at a point of base columns.
void lay_at(const Problem& p, Relaxation& x, const double* point) {
    std::copy_n(point, p.n, x.form.begin());
    for (i64 k = 0; k < p.units; ++k) {
        double z = p.z0[k];
        for (i64 i = 0; i < (p.deep[k] ? p.n + k : p.n); ++i) z += p.z(k, i) * x.form[i];
        x.form[p.n + k] = applied(p, k, z);
        if (x.state[k] == 0) x.lay(p, k, z);
    }
}

// Take from a box what a row leaves no room for: moving there costs more than its bound is above
// its end.  `x.rest` is the form of that bound; by how much the widest column shrank, of its width.
double shrink(const Problem& p, Box box, const Relaxation& x, double room) {
    const auto [low, high] = box;
    double most = 0.0;
    for (i64 j = 0; j < p.n; ++j) {
        const double wide = high[j] - low[j];
        if (p.group[j] >= 0 || !is_wide(p, box, j) || x.rest[j] == 0.0) continue;
        const double step = room / std::abs(x.rest[j]) * (1 + 16 * EPS);
        if (step >= wide) continue;
        const double slack = 8 * EPS * (std::abs(low[j]) + std::abs(high[j]));
        if (x.rest[j] > 0) {
            const double end = high[j] - step - slack;
            low[j] = larger(low[j], p.whole[j] ? std::ceil(end - 1e-9) : end);
        } else {
            const double end = low[j] + step + slack;
            high[j] = smaller(high[j], p.whole[j] ? std::floor(end + 1e-9) : end);
        }
        most = larger(most, 1.0 - (high[j] - low[j]) / wide);
    }
    for (i64 g = 0; g < p.members.rows; ++g) {
        double best = -INF;
        for (i64 i = 0; i < p.members.columns; ++i)
            if (const i64 j = p.members(g, i); j >= 0 && high[j] > 0)
                best = larger(best, x.rest[j]);
        const double least = best - room * (1 + 16 * EPS) - 16 * EPS * std::abs(best);
        for (i64 i = 0; i < p.members.columns; ++i)
            if (const i64 j = p.members(g, i); j >= 0 && high[j] > 0 && x.rest[j] < least) {
                high[j] = 0.0;
                most = 1.0;
            }
    }
    return most;
}

// What the points of a box cost at least where rows hold; infinity if none does.  Shrinks the box
// to where they do; `spread` says how much each column matters, and `corner` is the point where the
// tightest row is largest.
double bound(const Problem& p, Box box, Relaxation& x, double* spread, double* corner) {
    double paid = -INF;
    for (int pass = 0; pass < PASSES; ++pass) {
        relax(p, box, x);
        std::fill_n(spread, p.n, 0.0);
        double tightest = INF, shrunk = 0.0;
        for (i64 r = 0; r < p.rows.rows; ++r)
            for (const double sign : {1.0, -1.0}) {
                const double end = sign > 0 ? p.row_low[r] : -p.row_high[r];
                if (!std::isfinite(end)) continue;
                for (int round = 0; round <= RELAID; ++round) {
                    if (round > 0) lay_at(p, x, corner);
                    for (i64 i = 0; i < p.width; ++i) x.form[i] = sign * p.rows(r, i);
                    const double most = above(p, box, x, x.form.data(), 0.0, p.units);
                    if (most < end) return INF;
                    if (x.multiplier > 0)  // the bound falls below its end with the radius
                        paid = larger(paid, p.radius - (most - end) / x.multiplier * (1 + EPS));
                    shrunk = larger(shrunk, shrink(p, box, x, most - end));
                    if (most - end >= tightest) break;
                    tightest = most - end;
                    aim(p, box, x, spread, corner);
                }
            }
        if (shrunk < SHRUNK) break;
        if (narrow(p, box) == INF) return INF;
    }
    return paid - EPS * std::abs(p.radius);
}

// Whether a point of base columns satisfies the rows, as doubles see it.
bool holds(const Problem& p, const double* point) {
    std::vector<double> full(point, point + p.n);
    auto value_of = [&full](const double* row, double value) {
        for (std::size_t i = 0; i < full.size(); ++i) value += row[i] * full[i];
        return value;
    };
    for (i64 k = 0; k < p.units; ++k) full.push_back(applied(p, k, value_of(p.z[k], p.z0[k])));
    for (i64 r = 0; r < p.rows.rows; ++r) {
        const double value = value_of(p.rows[r], 0.0);
        if (value < p.row_low[r] || value > p.row_high[r]) return false;
    }
    return true;
}

// The column to split: of a group, some label of it; -1 if the point is determined.
i64 widest(const Problem& p, Box box, const double* spread) {
    double best = -1.0;
    i64 at = -1;
    for (i64 j = 0; j < p.n; ++j)
        if (p.group[j] < 0 && p.named[j] && box.high[j] - box.low[j] > p.fine[j] &&
            spread[j] > best) {
            best = spread[j];
            at = j;
        }
    for (i64 g = 0; g < p.members.rows; ++g) {
        double total = 0.0;
        i64 count = 0, first = -1;
        for (i64 i = 0; i < p.members.columns; ++i)
            if (const i64 j = p.members(g, i); j >= 0 && box.high[j] > 0) {
                total += spread[j];
                ++count;
                first = j;
            }
        if (count > 1 && total > best) {
            best = total;
            at = first;
        }
    }
    return at;
}

// Narrow a box to one side of a split.
void split(const Problem& p, Box box, i64 j, int side, const double* corner) {
    const auto [low, high] = box;
    if (p.group[j] >= 0) {
        const i64* labels = p.members[p.group[j]];
        i64 chosen = j;
        for (i64 i = 0; i < p.members.columns; ++i)
            if (const i64 k = labels[i]; k >= 0 && high[k] > 0 && corner[k] == 1.0) chosen = k;
        for (i64 i = 0; i < p.members.columns; ++i)
            if (const i64 k = labels[i]; k >= 0 && (k == chosen) == (side == 1)) high[k] = 0.0;
        return;
    }
    const i64 other = p.partner[j];
    if (other >= 0 && low[j] == 0.0 && high[other] > 0.0) {  // up or down first
        if (side == 0) {
            high[other] = 0.0;
        } else {
            high[j] = 0.0;
            if (p.whole[other]) low[other] = larger(low[other], 1.0);
        }
        return;
    }
    const double middle = (low[j] + high[j]) / 2;
    if (side == 0)
        high[j] = p.whole[j] ? std::floor(middle) : middle;
    else
        low[j] = p.whole[j] ? std::floor(middle) + 1.0 : middle;
}

// Rows of numbers, one after the other.
struct Points {
    std::vector<double> values;

    void add(const double* row, i64 n) { values.insert(values.end(), row, row + n); }
    auto array(i64 n) {
        const auto width = static_cast<std::size_t>(n), rows = width ? values.size() / width : 0;
        return owned(std::move(values), {rows, width});
    }
};

struct Step {
    Points low, high, tries, decided;
    std::vector<double> keys, paid;
};

// One box: its children, points to try and points to decide.
void process(const Problem& p, Box box, Relaxation& x, Step& to) {
    const double left = narrow(p, box);
    if (left == INF) return;
    std::vector<double> spread(p.n), corner(box.low, box.low + p.n);
    const double paid = bound(p, box, x, spread.data(), corner.data());
    if (paid == INF) return;
    const i64 j = widest(p, box, spread.data());
    if (j < 0) {
        std::vector<double> only(box.low, box.low + p.n);
        for (i64 k = 0; k < p.n; ++k)
            if (p.group[k] >= 0 && box.high[k] > 0) only[k] = 1.0;
        to.decided.add(only.data(), p.n);
        to.paid.push_back(larger(left, paid));
        return;
    }
    std::vector<double> low(box.low, box.low + p.n), high(box.high, box.high + p.n);
    for (i64 i = 0; i < p.n; ++i)
        if (p.named[i]) low[i] = high[i] = corner[i];
    if (narrow(p, {low.data(), high.data()}) < INF && holds(p, low.data()))
        to.tries.add(low.data(), p.n);
    for (int side = 0; side < 2; ++side) {
        low.assign(box.low, box.low + p.n);
        high.assign(box.high, box.high + p.n);
        const Box child{low.data(), high.data()};
        split(p, child, j, side, corner.data());
        const double key = narrow(p, child);
        if (key == INF) continue;
        to.low.add(child.low, p.n);
        to.high.add(child.high, p.n);
        to.keys.push_back(larger(key, paid));
    }
}

// Process a batch of boxes: children with what they cost, points to try, points to decide.
//
// Named columns determine the point, `fine` is how narrow each has to be: a box with all of them so
// narrow is left to exact arithmetic, with what it costs.
auto region_step(nb::handle problem, double radius, const Table<double>& lows,
                 const Table<double>& highs) {
    const Problem p(problem, radius);
    const auto low = view(lows), high = view(highs);
    Step found;
    {
        nb::gil_scoped_release released;
        Relaxation x(p);
        for (i64 b = 0; b < low.rows; ++b) process(p, {low[b], high[b]}, x, found);
    }
    return std::make_tuple(found.low.array(p.n), found.high.array(p.n),
                           owned(std::move(found.keys)), found.tries.array(p.n),
                           found.decided.array(p.n), owned(std::move(found.paid)));
}

double region_narrow(nb::handle problem, double radius, const Line<double>& low,
                     const Line<double>& high) {
    return narrow(Problem(problem, radius), {low.data(), high.data()});
}

bool region_bound(nb::handle problem, double radius, const Line<double>& low,
                  const Line<double>& high, const Line<double>& spread,
                  const Line<double>& corner) {
    const Problem p(problem, radius);
    Relaxation x(p);
    return bound(p, {low.data(), high.data()}, x, spread.data(), corner.data()) == INF;
}

// Lines above and below a smooth function on an interval: slopes and offsets.
auto curve_lines(i64 code, double low, double high) {
    const double middle = (low + high) / 2;
    const Affine over = cfxc::above(code, low, high, middle);
    const Affine under = cfxc::below(code, low, high, middle);
    return std::make_tuple(over.slope, over.offset, under.slope, under.offset);
}

}  // namespace
}  // namespace cfxc

void cfxc::add_regions(nb::module_& module) {
    module.def("curve_lines", &curve_lines);
    module.def("region_step", &region_step);
    module.def("region_narrow", &region_narrow);
    module.def("region_bound", &region_bound);
}
