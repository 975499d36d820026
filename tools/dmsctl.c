// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmsctl: shows what the module does.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <dmastream.h>

#include "dmsctl.h"

static const char usage_text[] =
"Usage: dmsctl status [--json]\n"
"       dmsctl counters [--json] [--all]\n"
"\n"
"status    node, counters, sessions, paths, streams and pools; for each stream\n"
"          that waits, what it waits for\n"
"counters  counters, gauges and refusals alone\n"
"\n"
"  -j, --json     JSON, as dmsctl(8) describes it\n"
"  -a, --all      also counters that are 0\n"
"  -h, --help     this text\n"
"  -V, --version\n"
"\n"
"Streams and pools of other users are shown to root only.\n";

static const struct option long_opts[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "all", no_argument, NULL, 'a' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 }
};

static int fail(const char *what, int error)
{
	fprintf(stderr, "dmsctl: %s: %s%s\n", what, strerror(-error),
		error == -ENOENT ? "; load the module: modprobe dmastream" : "");
	return 1;
}

static int run(const char *command, bool json, bool all)
{
	struct ctl_nl *nl;
	int ret;

	if (strcmp(command, "status") && strcmp(command, "counters")) {
		fprintf(stderr, "dmsctl: unknown command \"%s\"; dmsctl -h helps\n",
			command);
		return 2;
	}
	ret = ctl_nl_open(&nl);
	if (ret)
		return fail("generic netlink family \"dmastream\"", ret);
	if (!strcmp(command, "status"))
		ret = ctl_status(nl, json);
	else
		ret = ctl_counters(nl, json, all);
	ctl_nl_close(nl);
	if (ret)
		return fail(command, ret);
	/* a full disk or a closed pipe is a failure too */
	if (fflush(stdout) || ferror(stdout))
		return fail("standard output", -errno);
	return 0;
}

int main(int argc, char **argv)
{
	bool json = false, all = false;
	int c;

	while ((c = getopt_long(argc, argv, "jahV", long_opts, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'a':
			all = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		case 'V':
			printf("dmsctl %s\n", dmastream_version());
			return 0;
		default:
			return 2;
		}
	}
	if (argc - optind != 1) {
		fputs(usage_text, stderr);
		return 2;
	}
	return run(argv[optind], json, all);
}
