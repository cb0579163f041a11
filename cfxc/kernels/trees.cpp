// Batches of rows down trees together; tree_kernel.py says how.
#include "kernels.hpp"
#include "python.hpp"

namespace cfxc {
namespace {

template <class Index>
void add_values(const Table<const double>& rows, i64 block, const Line<const Index>& roots,
                const Line<const Index>& features, const Line<const double>& thresholds,
                const Line<const Index>& children, const Table<const double>& values,
                const Table<double>& totals) {
    const auto x = view(rows);
    const auto feature = view(features), child = view(children), root = view(roots);
    const auto threshold = view(thresholds);
    const auto value = view(values);
    const auto total = view(totals);
    std::vector<Index> at(block);
    for (i64 start = 0; start < total.rows; start += block) {
        const i64 size = smaller(block, total.rows - start);
        for (Index first : root) {
            std::fill_n(at.begin(), size, first);
            for (Index moved = 1; moved;) {
                moved = 0;
                const double* row = x[start];
                for (i64 i = 0; i < size; ++i, row += x.columns) {
                    const Index node = at[i];
                    const bool above = !(row[feature[node]] <= threshold[node]);
                    const Index next = child[2 * static_cast<i64>(node) + above];
                    moved |= next ^ node;
                    at[i] = next;
                }
            }
            for (i64 i = 0; i < size; ++i)
                for (i64 k = 0; k < total.columns; ++k) total(start + i, k) += value(at[i], k);
        }
    }
}

}  // namespace
}  // namespace cfxc

void cfxc::add_trees(nb::module_& module) {
    module.def("add_values", &add_values<std::uint32_t>, nb::call_guard<nb::gil_scoped_release>());
    module.def("add_values", &add_values<u64>, nb::call_guard<nb::gil_scoped_release>());
}
