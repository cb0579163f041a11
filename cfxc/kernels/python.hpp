// From numpy's arrays to views of them, and back.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <initializer_list>
#include <memory>
#include <utility>

#include "arrays.hpp"

namespace cfxc {

namespace nb = nanobind;

template <class T, class... Shape>
using Array = nb::ndarray<T, Shape..., nb::c_contig, nb::device::cpu>;

template <class T>
using Line = Array<T, nb::ndim<1>>;
template <class T>
using Table = Array<T, nb::ndim<2>>;

template <class T>
Vector<T> view(const Line<T>& array) {
    return {array.data(), static_cast<i64>(array.size())};
}
template <class T>
Matrix<T> view(const Table<T>& array) {
    return {array.data(), static_cast<i64>(array.shape(0)), static_cast<i64>(array.shape(1))};
}

// The fields of a named tuple of arrays; they have to be contiguous, and of the type said.
class Fields {
  public:
    explicit Fields(nb::handle tuple) : tuple_(tuple) {}

    template <class T>
    void operator()(const char* name, Vector<T>& to) const {
        to = view(nb::cast<Line<T>>(nb::getattr(tuple_, name), false));
    }
    template <class T>
    void operator()(const char* name, Matrix<T>& to) const {
        to = view(nb::cast<Table<T>>(nb::getattr(tuple_, name), false));
    }
    void operator()(const char* name, i64& to) const {
        to = nb::cast<i64>(nb::getattr(tuple_, name));
    }

  private:
    nb::handle tuple_;
};

// An array that owns what a vector held.
template <class T>
nb::ndarray<nb::numpy, T> owned(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto kept = std::make_unique<std::vector<T>>(std::move(values));
    T* data = kept->data();
    nb::capsule owner(kept.release(),
                      [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T>(data, shape, owner);
}
template <class T>
nb::ndarray<nb::numpy, T> owned(std::vector<T>&& values) {
    const std::size_t size = values.size();
    return owned(std::move(values), {size});
}

}  // namespace cfxc
