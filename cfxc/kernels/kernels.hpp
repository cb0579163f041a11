// The parts of the module.
#pragma once
#include <nanobind/nanobind.h>

namespace cfxc {

void add_box_search(nanobind::module_& module);
void add_climbing(nanobind::module_& module);
void add_generator(nanobind::module_& module);
void add_leaves(nanobind::module_& module);
void add_walks(nanobind::module_& module);
void add_regions(nanobind::module_& module);
void add_trees(nanobind::module_& module);

}  // namespace cfxc
