// cfxc.kernels._kernels; the .pyi file has the signatures.
#include "kernels.hpp"

NB_MODULE(_kernels, module) {
    cfxc::add_box_search(module);
    cfxc::add_climbing(module);
    cfxc::add_generator(module);
    cfxc::add_leaves(module);
    cfxc::add_regions(module);
    cfxc::add_trees(module);
    cfxc::add_walks(module);
}
