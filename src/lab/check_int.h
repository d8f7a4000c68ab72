/* What measuring and telling share. */
#ifndef EDGEPS_LAB_CHECK_INT_H
#define EDGEPS_LAB_CHECK_INT_H

#include "lab/check.h"

#include <stdbool.h>

/* How far off, as a share of what was asked: -0.1 is a tenth too little. */
double check_link_off(const check_link *l);

/* In seconds; INFINITY: nothing arrived. */
double check_path_off(const check_path *p);
bool check_path_is_off(const check_path *p);
bool check_link_is_off(const check_link *l);

/* As a share of what was asked. */
double check_disk_off(const check_disk *d);
bool check_disk_is_off(const check_disk *d);
double check_share_off(const check_share *s);
bool check_share_is_off(const check_share *s);

#endif
