# SPDX-License-Identifier: GPL-2.0
#
# Targets for people; "make help" names them.

KDIR ?= /lib/modules/$(shell uname -r)/build
BUILD ?= build
DESTDIR ?=
prefix ?= /usr/local
udevdir ?= $(if $(filter /usr,$(prefix)),/usr/lib/udev,/etc/udev)
# Relative to here, also for the Makefile of userspace.
override DESTDIR := $(if $(DESTDIR),$(abspath $(DESTDIR)))
vm := selftests/vm

.PHONY: help
help:
	@echo 'To use it:'
	@echo '  make modules [KDIR=...]   kmod/rpma.ko, for the running kernel or KDIR'
	@echo '  make modules_install      installs it (INSTALL_MOD_PATH=...)'
	@echo '  make userspace            librpma.so.0 and its examples, in build/userspace'
	@echo '  make install              library, headers, manuals, udev rule (DESTDIR=, prefix=)'
	@echo '  make rxe LINUX_SOURCE=...  rxe with our patches, in build/rxe (KDIR=...)'
	@echo '  make install-default      programs built for another librpma.so.0 use ours'
	@echo 'To see it (as root, on Debian 12 or 13; boots virtual machines):'
	@echo '  make demo [FILE=path]     a file, durably on another machine that loses its power'
	@echo 'To check it (as root):'
	@echo '  make check                everything, on Debian 6.12, 7.3 and a debug kernel'
	@echo '  make check-quick          one kernel, looped back (KERNEL=6.12 TESTS="mr_test cq_test" V=1)'
	@echo '  make check-debug          every suite on the debug kernel'
	@echo '  make check-static         what needs no machine: compilers, checkers, layers, ABI'
	@echo '  make check-harness        the harness fails a run when it should'
	@echo '  make check-mutants        the tests fail when they should'
	@echo '  make check-patches        the tests fail without the patch of rxe that they are for'
	@echo '  make check-demo           the demo fails when it should'
	@echo '  make check-long           what does not fit in make check'
	@echo '  make run SCRIPT=path      a guest script of yours in one machine (KERNEL=)'
	@echo 'make clean keeps what took long to make in build/; make distclean does not.'

.PHONY: modules modules_install userspace rxe selftests
.PHONY: install uninstall install-default uninstall-default
modules:
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

modules_install:
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules_install

userspace:
	$(MAKE) -C userspace BUILD=$(abspath $(BUILD))/userspace all examples

install:
	$(MAKE) -C userspace BUILD=$(abspath $(BUILD))/userspace install \
		DESTDIR=$(DESTDIR) prefix=$(prefix)
	install -d $(DESTDIR)$(udevdir)/rules.d
	echo 'KERNEL=="rpma", GROUP="rdma", MODE="0660"' >$(DESTDIR)$(udevdir)/rules.d/60-rpma.rules

uninstall:
	$(MAKE) -C userspace BUILD=$(abspath $(BUILD))/userspace uninstall \
		DESTDIR=$(DESTDIR) prefix=$(prefix)
	rm -f $(DESTDIR)$(udevdir)/rules.d/60-rpma.rules

install-default uninstall-default:
	$(MAKE) -C userspace $@ DESTDIR=$(DESTDIR) prefix=$(prefix)

# LINUX_SOURCE is a tarball or a tree, of the kernel of KDIR.
LINUX_SOURCE ?=
rxe:
	@MAKE='$(MAKE)' kmod/patches/build.sh -o '$(abspath $(BUILD))/rxe' '$(KDIR)' '$(LINUX_SOURCE)'

# Programs, library and modules of the tests, as the test machines get them.
selftests:
	$(vm)/prepare.sh 6.12
	$(vm)/build.sh 6.12

KERNEL ?= 6.12
TESTS ?=
FILE ?=
export TESTS V KEEP

.PHONY: check check-quick check-debug check-static check-harness check-mutants check-patches check-demo check-long run demo
check:
	@$(vm)/check.sh

check-quick:
	@KERNELS=$(KERNEL) SPLIT=1 $(vm)/check.sh suites

check-debug:
	@LONG=1 KERNELS='debug debug+flush' $(vm)/check.sh suites pairs

check-static:
	@KERNELS='6.12 7.3' $(vm)/check.sh static

check-harness:
	@KERNELS='6.12 debug 6.12+flush' $(vm)/check.sh harness

check-mutants:
	@KERNELS=6.12 $(vm)/check.sh mutants

check-patches:
	@KERNELS=6.12+flush $(vm)/check.sh patches

check-demo:
	@$(vm)/demo-test.sh

# The longer suites come here, each a script of its own.
check-long: export LONG = 1
check-long: check check-demo check-patches

run:
	@$(vm)/prepare.sh $(KERNEL)
	@$(vm)/build.sh $(KERNEL)
	@$(vm)/run.sh -k $(KERNEL) $(SCRIPT)

demo:
	@$(vm)/demo.sh "$$FILE"

.PHONY: clean distclean
clean:
	rm -rf $(BUILD)/kmod $(BUILD)/userspace $(BUILD)/selftests $(BUILD)/static \
		$(BUILD)/mutants $(BUILD)/planted $(BUILD)/rxe $(BUILD)/logs $(BUILD)/sanitize
	rm -f Module.symvers modules.order .*.cmd kmod/*.o kmod/*.ko kmod/*.mod kmod/*.mod.c \
		kmod/.*.cmd kmod/modules.order

distclean: clean
	rm -rf $(BUILD)
