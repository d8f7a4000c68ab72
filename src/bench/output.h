/* Tables and figures as files of a folder. */
#ifndef EDGEPS_BENCH_OUTPUT_H
#define EDGEPS_BENCH_OUTPUT_H

#include "bench/sheet.h"

#include <stdbool.h>

/* Writes NAME.csv and NAME.md. Returns false, with errno, where that fails. */
bool output_sheet(const char *folder, const char *name, const sheet *s);

/* Writes the program for gnuplot as NAME.gp, and what it draws as NAME.svg; where gnuplot is
 * missing or fails, a line on standard error says so instead. Returns false where a file cannot be
 * written. The caller collects no other children meanwhile. */
bool output_figure(const char *folder, const char *name, const char *program);

#endif
