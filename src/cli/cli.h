/* The subcommands of `edgeps`: each takes its own arguments (argv[0] is its name) and returns the
 * exit status: 0, 1 (the work failed), 2 (usage or input), 3 (infeasible), 130 (interrupted). */
#ifndef EDGEPS_CLI_CLI_H
#define EDGEPS_CLI_CLI_H

int cli_plan(int argc, char **argv);
int cli_explain(int argc, char **argv);
int cli_run(int argc, char **argv);
int cli_report(int argc, char **argv);
int cli_topo(int argc, char **argv);
int cli_lab(int argc, char **argv);
int cli_bench(int argc, char **argv);
int cli_scenario(int argc, char **argv);
int cli_sim(int argc, char **argv);
int cli_probe(int argc, char **argv);
int cli_agent(int argc, char **argv);
int cli_cert(int argc, char **argv);

#endif
