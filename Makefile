# SPDX-License-Identifier: GPL-2.0-only
#
# dmastream: module, library, tools, and the bed that tests them.  "make help".

MAKEFLAGS += --no-print-directory
export DMS_BUILD := $(abspath $(or $(BUILD),build))

NODES  ?= 2
ARGS   ?=
PREFIX ?= /usr/local

packages := selftests/setup/packages
vm       := selftests/vm/vm

# module building takes KDIR=dir or KERNEL=6.1|6.12|debug (all: each of the three)
kernels_all := 6.1 6.12 debug
module_targets := $(or $(KDIR),$(if $(filter all,$(KERNEL)),$(kernels_all),$(KERNEL)))
# handed on to kbuild when they are given
kbuild_vars := W C CF V KCFLAGS KCPPFLAGS KBUILD_EXTRA_SYMBOLS CONFIG_DMASTREAM_KUNIT_TEST
kbuild_args := $(foreach v,$(kbuild_vars),$(if $($(v)),$(v)="$($(v))"))

.PHONY: all modules lib tools install uninstall modules_install clean help packages \
	check lint unit model kunit selftest mutants cost bench bench-report demo shell vm debug-kernel

all: modules lib tools

modules:
	@$(packages) build
	@OFED="$(OFED)" kmod/build-modules $(module_targets) -- $(kbuild_args)

lib:
	@$(packages) build
	@test ! -f lib/Makefile || $(MAKE) -C lib BUILD=$(DMS_BUILD) all

tools: lib
	@test ! -f tools/Makefile || $(MAKE) -C tools BUILD=$(DMS_BUILD) all

install: lib tools
	@$(MAKE) -C lib BUILD=$(DMS_BUILD) install
	@$(MAKE) -C tools BUILD=$(DMS_BUILD) install

uninstall:
	@$(MAKE) -C lib BUILD=$(DMS_BUILD) uninstall
	@$(MAKE) -C tools BUILD=$(DMS_BUILD) uninstall

modules_install: modules
	@kmod/install-modules $(module_targets)

clean:
	rm -rf $(DMS_BUILD)

packages:
	@$(packages) all

check lint unit model kunit selftest mutants:
	@selftests/check/check $(filter-out check,$@) $(ARGS)

cost:
	@$(packages) demo
	@selftests/cost/cost --kernel $(or $(KERNEL),6.1) $(ARGS)

# not a test: it measures, and takes an hour or more (ARGS=--quick: minutes)
bench:
	@$(packages) bench
	@selftests/bench/bench --kernel $(or $(KERNEL),6.1) $(ARGS)

bench-report:
	@selftests/bench/bench --report

demo:
	@$(packages) demo
	@selftests/demo/demo --kernel $(or $(KERNEL),6.1) $(if $(FILE),--file "$(FILE)")

# what runs in a guest: the module for its kernel, the library and the tools
.PHONY: for-guest
for-guest: lib tools
	@$(packages) vm $(if $(filter debug,$(KERNEL)),kunit)
	@kmod/build-modules $(or $(KERNEL),6.1)

shell: for-guest
	@$(vm) --shell --kernel $(or $(KERNEL),6.1) --nodes $(NODES) $(ARGS)

vm: for-guest
	@$(if $(value RUN),,echo "make vm: say what to run: make vm NODES=2 RUN='rdma link'" >&2; exit 2)
	@$(vm) --kernel $(or $(KERNEL),6.1) --nodes $(NODES) --run '$(subst ','\'',$(value RUN))' $(ARGS)

# not a test: as long as one likes (TIME=600 SEED=1 KERNEL=6.12)
.PHONY: soak
soak:
	@$(MAKE) for-guest KERNEL=$(or $(KERNEL),6.12)
	@selftests/soak/soak --kernel=$(or $(KERNEL),6.12) $(if $(TIME),--time=$(TIME)) $(if $(SEED),--seed=$(SEED)) $(ARGS)

# not a test: times of recovery, 100 rounds each (ARGS=--rounds=10: fewer)
.PHONY: recovery
recovery:
	@$(MAKE) for-guest KERNEL=$(or $(KERNEL),6.1)
	@selftests/recovery/recovery --kernel=$(or $(KERNEL),6.1) $(ARGS)

debug-kernel:
	@$(packages) kunit
	@selftests/kernels/debug-kernel

help:
	@echo 'make                     module (running kernel, or each with headers), library, tools'
	@echo 'make modules KDIR=dir    the module against those kernel headers; or KERNEL=6.1|6.12|debug|all'
	@echo 'make install             library and tools into PREFIX (/usr/local), DESTDIR honoured'
	@echo 'make uninstall           takes these away again'
	@echo 'make modules_install     dmastream.ko into /lib/modules/RELEASE/updates'
	@echo
	@echo "make demo [FILE=f] [KERNEL=6.12]      stream a file between two guests, with proof"
	@echo 'make cost                             instructions per message, by function'
	@echo 'make bench [ARGS=--quick]             speed beside verbs, TCP, rsockets, RDS, UCX, libfabric'
	@echo 'make bench-report                     its table: which aims are reached'
	@echo 'make soak TIME=600 [SEED=n]           streams under faults of every kind'
	@echo 'make recovery                         how long failures take to be noticed, and got over'
	@echo "make vm KERNEL=6.12 NODES=2 RUN='...' run a command on each of some guests"
	@echo 'make shell KERNEL=6.12 NODES=2        a prompt on each'
	@echo
	@echo 'make check               before a push (20 min); ends with "N passed, N failed, N skipped"'
	@echo 'make check ARGS=--ci     all suites with smaller counts (within an hour); ARGS=--full: all there is'
	@echo 'make lint unit model kunit selftest mutants a part of it, with the same ARGS'
	@echo 'make debug-kernel        build the debug kernel ahead of its first use (10 min, cached)'
	@echo 'make packages            install all Debian packages that any of this needs'
	@echo
	@echo 'ARGS=... goes to the program behind a target (its -h tells more).  BUILD=dir moves build/.'
