// SPDX-License-Identifier: GPL-2.0-only
/*
 * dmsctl: shows what the module does.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dmastream.h>

#include "dmsctl.h"

static const char usage_text[] =
"Usage: dmsctl status [--json]\n"
"       dmsctl counters [--json] [--all]\n"
"       dmsctl monitor [--json] [--count N] [--timeout S]\n"
"\n"
"status    node, counters, sessions, paths, streams and pools; for each stream\n"
"          that waits, what it waits for\n"
"counters  counters, gauges and refusals alone\n"
"monitor   what happens to sessions and paths, a line each, until it is stopped\n"
"\n"
"  -j, --json     JSON, as dmsctl(8) describes it\n"
"  -a, --all      also counters that are 0\n"
"  -n, --count N  end after so many events\n"
"  -t, --timeout S  end after so many seconds\n"
"  -h, --help     this text\n"
"  -V, --version\n"
"\n"
"Streams and pools of other users are shown to root only.\n";

static const struct option long_opts[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "all", no_argument, NULL, 'a' },
	{ "count", required_argument, NULL, 'n' },
	{ "timeout", required_argument, NULL, 't' },
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

static int status(struct ctl_nl *nl, const struct ctl_opts *opts)
{
	return ctl_status(nl, opts->json);
}

static int counters(struct ctl_nl *nl, const struct ctl_opts *opts)
{
	return ctl_counters(nl, opts->json, opts->all);
}

static const struct command {
	const char	*name;
	bool		listens;	/* knows --count and --timeout */
	/* 0, -errno, or 1: what failed was told */
	int		(*run)(struct ctl_nl *nl, const struct ctl_opts *opts);
} commands[] = {
	{ "status", false, status },
	{ "counters", false, counters },
	{ "monitor", true, ctl_monitor },
};

static const struct command *find_command(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	fprintf(stderr, "dmsctl: unknown command \"%s\"; dmsctl -h helps\n", name);
	return NULL;
}

static int run(const char *name, const struct ctl_opts *opts)
{
	const struct command *c = find_command(name);
	struct ctl_nl *nl;
	int ret;

	if (!c)
		return 2;
	if (!c->listens && (opts->count || opts->timeout_s)) {
		fprintf(stderr, "dmsctl: --count and --timeout are for monitor\n");
		return 2;
	}
	ret = ctl_nl_open(&nl);
	if (ret)
		return fail("generic netlink family \"dmastream\"", ret);
	ret = c->run(nl, opts);
	ctl_nl_close(nl);
	if (ret)
		return ret > 0 ? ret : fail(name, ret);
	/* a full disk or a closed pipe is a failure too */
	if (fflush(stdout) || ferror(stdout))
		return fail("standard output", -errno);
	return 0;
}

/* 1 to a billion. */
static bool number(const char *what, const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno && *out >= 1 && *out <= 1000000000)
		return true;
	fprintf(stderr, "dmsctl: %s: \"%s\" is not a number from 1 on\n", what, text);
	return false;
}

int main(int argc, char **argv)
{
	struct ctl_opts opts = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "jan:t:hV", long_opts, NULL)) != -1) {
		switch (c) {
		case 'j':
			opts.json = true;
			break;
		case 'a':
			opts.all = true;
			break;
		case 'n':
			if (!number("--count", optarg, &opts.count))
				return 2;
			break;
		case 't':
			if (!number("--timeout", optarg, &opts.timeout_s))
				return 2;
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
	return run(argv[optind], &opts);
}
