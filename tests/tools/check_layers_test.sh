#!/bin/sh
# tools/check-layers against small trees, each broken in one place: the tool fails and its only
# line is the expected one.
set -eu
tool=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# A sound tree: base below plan, plan alone uses the outside header big.h.
plant() {
    rm -rf "$tree/src"
    mkdir -p "$tree/src/base" "$tree/src/plan"
    printf '%s\n' '# rooms' '0 base' '1 plan base + big.h' >"$tree/src/LAYERS"
    touch "$tree/src/base/CMakeLists.txt" "$tree/src/plan/CMakeLists.txt"
    printf '%s\n' '#include "base/base.h"' '#include <string.h>' >"$tree/src/base/base.c"
    printf '%s\n' '#include "plan/plan.h"' '#include "base/base.h"' '#include <big.h>' \
        >"$tree/src/plan/plan.c"
    printf '%s\n' '#include "plan/plan.h"' '#include <cmocka.h>' >"$tree/src/plan/plan_test.c"
}

# expect NAME LINE: the tool says exactly LINE and fails; with an empty LINE it is content.
expect() {
    status=0
    said=$("$tool" "$tree" 2>&1) || status=$?
    wanted=0
    [ -z "$2" ] || wanted=1
    if [ "$said" != "$2" ] || [ "$status" -ne "$wanted" ]; then
        printf '%s: status %s\n  wanted: %s\n  said:   %s\n' "$1" "$status" "$2" "$said"
        failures=$((failures + 1))
    fi
}

plant
expect accepts_a_sound_tree ''

plant
printf '#include "plan/plan.h"\n' >>"$tree/src/base/base.c"
expect refuses_an_include_without_an_arrow 'src/base/base.c:3: base has no arrow to plan'

plant
printf '#include "base.h"\n' >>"$tree/src/plan/plan.c"
expect refuses_an_include_that_names_no_module \
    'src/plan/plan.c:4: "base.h" does not name its module'

plant
printf '#include "base/heap_int.h"\n' >>"$tree/src/plan/plan.c"
expect refuses_a_private_header_of_another_module \
    'src/plan/plan.c:4: base/heap_int.h is private to base'

plant
sed -i 's/^0 base/1 base/' "$tree/src/LAYERS"
expect refuses_an_arrow_within_a_layer \
    'src/LAYERS:3: plan -> base does not go down: layer 1 to 1'

plant
sed -i '3s/base/base cost/' "$tree/src/LAYERS"
printf '#include "cost/cost.h"\n' >>"$tree/src/plan/plan.c"
expect refuses_an_arrow_to_nowhere 'src/LAYERS:3: plan: no module is called cost'

plant
sed -i '/base/d' "$tree/src/plan/plan.c"
expect refuses_an_unused_arrow 'src/LAYERS:3: plan never uses its arrow to base'
rm "$tree/src/plan/CMakeLists.txt"
expect lets_a_module_to_come_list_its_arrows ''

plant
sed -i '/big/d' "$tree/src/plan/plan.c"
expect refuses_an_unused_outside_header 'src/LAYERS:3: plan never uses its outside header big.h'

plant
printf '#include <vendor/big.h>\n' >>"$tree/src/base/base.c"
expect refuses_an_outside_header_of_another_module \
    'src/base/base.c:3: base does not list the outside header vendor/big.h'

plant
printf '#include <cmocka.h>\n' >>"$tree/src/base/base.c"
expect keeps_cmocka_out_of_the_product 'src/base/base.c:3: cmocka belongs to tests and fixtures'

plant
mkdir "$tree/src/shed"
printf '#include <stdio.h>\n' >"$tree/src/shed/shed.c"
expect refuses_a_folder_that_is_not_listed 'src/shed/shed.c:1: src/LAYERS has no module shed'

[ "$failures" -eq 0 ]
