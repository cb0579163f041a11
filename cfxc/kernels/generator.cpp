// Samples of levels and diverse choices among rows; sampling.py says what for.
#include <chrono>

#include "kernels.hpp"
#include "python.hpp"

namespace cfxc {
namespace {

using Level = std::int16_t;

// Levels (n, m, K) by their laws (n, K, L), from uniform noise (n, m, K).
auto draw_levels(const Array<const double, nb::ndim<3>>& law,
                 const Array<const double, nb::ndim<3>>& uniform) {
    const std::size_t n = uniform.shape(0), m = uniform.shape(1), k = uniform.shape(2),
                      levels = law.shape(2);
    std::vector<Level> found(n * m * k);
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < k; ++j) {
            const double* chances = law.data() + (i * k + j) * levels;
            std::size_t last = levels ? levels - 1 : 0;
            while (last > 0 && !(chances[last] > 0)) --last;
            for (std::size_t r = 0; r < m; ++r) {
                const std::size_t place = (i * m + r) * k + j;
                double left = uniform.data()[place];
                std::size_t level = 0;
                for (; level < last; ++level) {
                    left -= chances[level];
                    if (left < 0 && chances[level] > 0) break;
                }
                found[place] = static_cast<Level>(level);
            }
        }
    return owned(std::move(found), {n, m, k});
}

i64 apart(const Matrix<const Level>& rows, i64 a, i64 b) {
    i64 count = 0;
    for (i64 j = 0; j < rows.columns; ++j) count += rows(a, j) != rows(b, j);
    return count;
}

// Whether there is time for another step: one choice is made in any case.
auto until(double seconds) {
    using Clock = std::chrono::steady_clock;
    return [start = Clock::now(), seconds](i64 step) {
        return !step || std::chrono::duration<double>(Clock::now() - start).count() < seconds;
    };
}

// Greedy max-min choice of `count` rows under the Hamming distance, from `first`: the first of them
// that there is time for, as of all choices here.
//
// Of rows that are as far from their nearest chosen one, the one that is farthest from all.
auto max_min(const Table<const Level>& table, i64 first, i64 count, double seconds) {
    const auto rows = view(table);
    const auto in_time = until(seconds);
    std::vector<i64> nearest(rows.rows, rows.columns + 1), total(rows.rows), chosen;
    i64 pick = first;
    for (i64 step = 0; step < smaller(count, rows.rows) && in_time(step); ++step) {
        chosen.push_back(pick);
        nearest[pick] = -1;
        i64 best = -1;
        for (i64 i = 0; i < rows.rows; ++i) {
            if (nearest[i] < 0) continue;
            const i64 distance = apart(rows, i, pick);
            nearest[i] = smaller(nearest[i], distance);
            total[i] += distance;
            if (best < 0 || nearest[i] > nearest[best] ||
                (nearest[i] == nearest[best] && total[i] > total[best]))
                best = i;
        }
        pick = best;
    }
    return owned(std::move(chosen));
}

// Greedy maximum over `count` rows of the harmonic mean of D, the share of the columns in which two
// of them differ on average, and 1 - S, the share that each leaves alone (`changes`: how many not).
auto harmonic(const Table<const Level>& table, const Line<const i64>& changes, i64 columns,
              i64 count, double seconds) {
    const auto rows = view(table);
    const auto in_time = until(seconds);
    const auto moved = view(changes);
    std::vector<i64> total(rows.rows), chosen;
    std::vector<bool> taken(rows.rows);
    i64 pick = -1, differ = 0, change = 0;
    for (i64 step = 0; step < smaller(count, rows.rows) && in_time(step); ++step) {
        // of the set with row i
        const auto worth = [&](i64 i) {
            const double pairs = double(columns) * larger(step * (step + 1), i64(1)) / 2,
                         d = step ? (differ + total[i]) / pairs : 1.0,
                         kept = 1.0 - (change + moved[i]) / (double(columns) * (step + 1));
            return d + kept > 0 ? d * kept / (d + kept) : 0.0;
        };
        pick = -1;
        double best = -1.0;
        for (i64 i = 0; i < rows.rows; ++i)
            if (!taken[i])
                if (const double own = worth(i); own > best) best = own, pick = i;
        taken[pick] = true;
        chosen.push_back(pick);
        differ += total[pick];
        change += moved[pick];
        for (i64 i = 0; i < rows.rows; ++i) total[i] += apart(rows, i, pick);
    }
    return owned(std::move(chosen));
}

// Greedy maximum of the determinant of 2^(-Hamming distance) over `count` rows.
//
// The kernel is positive definite on distinct rows, a product of one per feature.  Each step takes
// the row with the largest variance that the chosen ones leave it, by a growing Cholesky factor.
auto determinantal(const Table<const Level>& table, i64 count, double seconds) {
    constexpr double SAME = 1e-9;  // of a variance in [0, 1]: what rounding leaves where nothing is
    const auto rows = view(table);
    const auto in_time = until(seconds);
    const i64 size = smaller(count, rows.rows);
    std::vector<i64> chosen;
    std::vector<double> left(rows.rows, 1.0), factor;  // of the factor, column after column
    for (i64 step = 0; step < size && in_time(step); ++step) {
        const i64 pick = std::max_element(left.begin(), left.end()) - left.begin();
        chosen.push_back(pick);
        const double scale = std::sqrt(larger(left[pick], SAME));
        factor.resize(rows.rows * (step + 1));
        double* value = factor.data() + rows.rows * step;
        for (i64 i = 0; i < rows.rows; ++i)
            value[i] = std::ldexp(1.0, -static_cast<int>(apart(rows, i, pick)));
        for (i64 s = 0; s < step; ++s) {
            const double *column = factor.data() + rows.rows * s, own = column[pick];
            for (i64 i = 0; i < rows.rows; ++i) value[i] -= column[i] * own;
        }
        for (i64 i = 0; i < rows.rows; ++i) {
            if (left[i] < 0) continue;
            value[i] /= scale;
            left[i] = larger(left[i] - value[i] * value[i], 0.0);
        }
        left[pick] = -1.0;
    }
    return owned(std::move(chosen));
}

}  // namespace
}  // namespace cfxc

void cfxc::add_generator(nb::module_& module) {
    module.def("draw_levels", &draw_levels);
    constexpr double ever = std::numeric_limits<double>::infinity();
    using namespace nb::literals;
    const auto seconds = "seconds"_a = ever;
    module.def("max_min", &max_min, "rows"_a, "first"_a, "count"_a, seconds);
    module.def("harmonic", &harmonic, "rows"_a, "changes"_a, "columns"_a, "count"_a, seconds);
    module.def("determinantal", &determinantal, "rows"_a, "count"_a, seconds);
}
