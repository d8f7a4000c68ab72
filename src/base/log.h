/* Log lines for operators, on standard error: "edgeps: lyon: lost its parent". The level comes from
 * the environment variable EDGEPS_LOG (error, warning, info, debug) or log_set_level. A line is
 * written with one call, so lines of several processes do not mix. */
#ifndef EDGEPS_BASE_LOG_H
#define EDGEPS_BASE_LOG_H

typedef enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG } log_level;

void log_set_level(log_level level);

/* Names this process in front of each line; `who` is copied and cut at 63 bytes. */
void log_set_name(const char *who);

void log_line(log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
