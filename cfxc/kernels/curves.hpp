// Smooth functions of one number, and lines above and below them over an interval.
//
// Sigmoid and tanh have lines of their own; the others have those that a bound of f'' gives.
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

// Any function with |f''| <= bend: between points h apart it is within bend h^2 / 8 of its chord.
struct Bend {
    double (*value)(double);
    double (*slope)(double);
    double bend;
};

constexpr double ROOT_HALF = 0.70710678118654752440, ROOT_PI = 1.77245385090551602730;
constexpr double TANH_SCALE = 2.0 * ROOT_HALF / ROOT_PI;  // sqrt(2 / pi)

inline double share(double x) {
    const double small = std::exp(-std::abs(x));
    return x >= 0 ? 1.0 / (1.0 + small) : small / (1.0 + small);
}
inline double softplus(double x) {
    return larger(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}
inline double normal(double x) {
    return 0.5 * std::erfc(-x * ROOT_HALF);
}
inline double cubic(double x) {
    return 2.0 * TANH_SCALE * (x + 0.044715 * x * x * x);
}

// In the order of CURVES in compiler/relaxation.py, after sigmoid and tanh.
inline const Bend& bend_of(i64 code) {
    static const std::array<Bend, 9> bends{{
        {[](double x) { return std::erf(x); },
         [](double x) { return 2.0 / ROOT_PI * std::exp(-x * x); }, 1.0},
        {softplus, share, 0.25},
        {[](double x) { return x / (1.0 + std::abs(x)); },
         [](double x) { return 1.0 / ((1.0 + std::abs(x)) * (1.0 + std::abs(x))); }, 2.0},
        {[](double x) { return x > 0 ? x : std::expm1(x); },
         [](double x) { return x > 0 ? 1.0 : std::exp(x); }, 1.0},
        {[](double x) { return x * share(x); },
         [](double x) { return share(x) * (1.0 + x * (1.0 - share(x))); }, 0.5},
        {[](double x) { return x * normal(x); },
         [](double x) { return normal(x) + x * std::exp(-x * x / 2.0) * ROOT_HALF / ROOT_PI; },
         0.8},
        {[](double x) { return x * share(cubic(x)); },
         [](double x) {
             const double v = share(cubic(x));
             return v + x * v * (1.0 - v) * 2.0 * TANH_SCALE * (1.0 + 3 * 0.044715 * x * x);
         },
         0.9},
        {[](double x) { return x * std::tanh(softplus(x)); },
         [](double x) {
             const double gate = std::tanh(softplus(x));
             return gate + x * (1.0 - gate * gate) * share(x);
         },
         0.75},
        {[](double x) { return x * x; }, [](double x) { return 2.0 * x; }, 2.0},
    }};
    return bends[static_cast<std::size_t>(code - 2)];
}

constexpr int PIECES = 24;

// sign * f is nowhere above the line: of the slopes tried the one closest at a point.
inline Affine over(const Bend& f, double low, double high, double near, double sign) {
    const double wide = high - low, step = wide / PIECES;
    std::array<double, PIECES + 1> places{}, values{};
    double size = 0.0;
    for (int i = 0; i <= PIECES; ++i) {
        const auto k = static_cast<std::size_t>(i);
        places[k] = i == PIECES ? high : low + step * i;
        values[k] = sign * f.value(places[k]);
        size = larger(size, std::abs(values[k]));
    }
    const double between = f.bend * step * step / 8.0 * (1.0 + 1e-9);
    const double reach = larger(std::abs(low), std::abs(high));
    const double chord =
        wide > 1e-9 * (1.0 + reach) ? (values.back() - values.front()) / wide : sign * f.slope(low);
    Affine best{0.0, INF};
    for (const double s : {chord, sign * f.slope(near)}) {
        double most = -INF;
        for (std::size_t k = 0; k <= PIECES; ++k) most = larger(most, values[k] - s * places[k]);
        const double slack = 1e-12 + 1e-13 * (std::abs(s) * reach + size);
        const Affine line{s, most + between + slack};
        if (line.slope * near + line.offset < best.slope * near + best.offset) best = line;
    }
    return best;
}

inline const Curve& curve(i64 code) {
    static constexpr std::array<Curve, 2> curves{{{1.0, 1.0, 0.0}, {2.0, 2.0, -1.0}}};
    return curves[static_cast<std::size_t>(code)];
}

inline double curve_value(i64 code, double x) {
    return code < 2 ? curve(code).value(x) : bend_of(code).value(x);
}
inline Affine above(i64 code, double low, double high, double near) {
    return code < 2 ? above(curve(code), low, high, near)
                    : over(bend_of(code), low, high, near, 1.0);
}
inline Affine below(i64 code, double low, double high, double near) {
    if (code < 2) return below(curve(code), low, high, near);
    const Affine line = over(bend_of(code), low, high, near, -1.0);
    return {-line.slope, -line.offset};
}

}  // namespace cfxc
