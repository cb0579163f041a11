// Sigmoid and tanh, and lines above and below them over an interval.
//
// A line of *any* slope s bounds f once its offset is the greatest f(x) - s x there, which is at an
// end or where f is concave and f' = s.  So slopes need no care, and offsets carry a slack far
// above the rounding of the functions.
#pragma once
#include <array>

#include "arrays.hpp"

namespace cfxc {

// f(x) = high σ(steep x) + low: convex up to 0, then concave; -f(-x) is f(x) less a constant.
struct Curve {
    double high, steep, low;

    double value(double x) const { return high / (1.0 + std::exp(-steep * x)) + low; }
    double slope(double x) const {
        const double v = 1.0 / (1.0 + std::exp(-steep * x));
        return high * steep * v * (1.0 - v);
    }
    // The x >= 0 with f'(x) = s, as doubles see it.
    double where(double s) const {
        const double root = std::sqrt(larger(0.0, 1.0 - 4.0 * s / (high * steep)));
        return std::log((1.0 + root) / (1.0 - root)) / steep;
    }
};

inline const Curve& curve(i64 code) {
    static constexpr std::array<Curve, 2> curves{{{1.0, 1.0, 0.0}, {2.0, 2.0, -1.0}}};
    return curves[static_cast<std::size_t>(code)];
}

struct Affine {
    double slope, offset;
};

// A line nowhere below the curve on an interval, as close to it at a point as one may be.
inline Affine above(const Curve& f, double low, double high, double near) {
    const double wide = high - low, first = f.value(low), last = f.value(high);
    auto gap = [&f](double s, double x) { return f.value(x) - s * x; };
    auto most = [&](double s) {
        const double peak = smaller(larger(f.where(s), larger(low, 0.0)), high);
        return larger(larger(first - s * low, last - s * high), high > 0 ? gap(s, peak) : first);
    };
    auto lifted = [&](double s) {
        const double size = larger(std::abs(low), std::abs(high));
        return Affine{s, most(s) + 1e-12 + 1e-13 * s * size};
    };
    if (wide < 1e-6 || high <= 0) return lifted(wide < 1e-6 ? f.slope(low) : (last - first) / wide);
    const double chord = (last - first) / wide;
    if (low < 0 && f.slope(high) >= chord) return lifted(chord);
    double at = smaller(larger(near, larger(low, 0.0)), high);
    if (low < 0 && gap(f.slope(at), at) < first - f.slope(at) * low) {
        double good = high;  // tangents from there on lie above the lower end
        for (int halving = 0; halving < 12; ++halving) {
            const double middle = (at + good) / 2, s = f.slope(middle);
            (gap(s, middle) < first - s * low ? at : good) = middle;
        }
        at = good;
    }
    return lifted(f.slope(at));
}

// A line nowhere above it.
inline Affine below(const Curve& f, double low, double high, double near) {
    const Affine line = above(f, -high, -low, -near);
    return {line.slope, 2.0 * f.value(0.0) - line.offset};
}

}  // namespace cfxc
