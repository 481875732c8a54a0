#!/bin/sh
# Checks the protocol's models in docs/model with spin, exhaustively: each configuration has its properties, each broken variant
# violates the one that it should, and so does each limit that README.md there owns up to.
#
#   internal/scripts/model.sh          everything
#   internal/scripts/model.sh NAME...  these configurations, and leaves the counter-examples, readable, in the current directory
set -eu

there() { command -v "$1" >/dev/null; }
missing=
there spin || missing="$missing spin"
there gcc || missing="$missing gcc libc6-dev" # spin calls it by that name, too
if [ -n "$missing" ]; then
	if ! there apt-get; then
		echo "model: missing:$missing, and no apt-get: install spin 6.5 or later and a C compiler (brew install spin, dnf install spin ...)" >&2
		exit 1
	fi
	root=
	if [ "$(id -u)" != 0 ]; then
		if ! there sudo; then
			echo "model: missing, and neither root nor sudo to install it: apt-get install$missing" >&2
			exit 1
		fi
		root=sudo
	fi
	echo "model: apt-get install$missing"
	install() { $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" </dev/null; }
	# The lists of packages may be missing or old.
	# shellcheck disable=SC2086 # one word for each package
	install $missing || { $root apt-get update -q </dev/null && install $missing; }
fi

here=$PWD
models=$(cd "$(dirname "$0")/../../docs/model" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work"
cp "$models"/*.pml .
wanted=" $* "
bad=0
checked=0

# A search beyond either has to be made smaller: a search that was cut short proves nothing.
megabytes=1024
depth=200000

say() { printf '%-24s %-13s %9s %7s %7s  %s\n' "$@"; }

# check EXPECTED NAME MODEL PROPERTIES FLAG... EXPECTED is holds or fails. Properties 9 and later are about what happens in the
# end, one at a time.
check() {
	expected=$1 name=$2 model=$3 properties=$4
	shift 4
	case $wanted in *" $name "* | "  ") ;; *) return 0 ;; esac

	checked=$((checked + 1))
	bits=0
	claim=
	for p in $properties; do
		case $p in
		9) claim=P9_decided_in_the_end ;;
		10) claim=P10_no_lost_wakeup ;;
		11) claim=P11_everyone_is_granted ;;
		*) bits=$((bits + (1 << p))) ;;
		esac
	done
	if [ -n "$claim" ]; then
		violated="acceptance cycle ("
		how="-DNFAIR=3"
		run="-a -f -N $claim"
	else
		violated="assertion violated ( !(($bits&(1<<" # CHECKED, and no other assertion or error
		how="-DSAFETY -DNOFAIR"
		run=
	fi
	quick=-O1
	[ "$expected" = holds ] || quick=-O0 # most of it is the compiler's time
	rm -f -- *.trail pan pan.*
	# shellcheck disable=SC2086 # how and run are several words, or none
	if ! spin -a -DPROPS=$bits "$@" "$model.pml" >spin.out 2>&1 ||
		! gcc $quick -w $how -DCOLLAPSE -DVECTORSZ=2048 -DMEMLIM=$megabytes -o pan pan.c >>spin.out 2>&1; then
		cat spin.out >&2
		exit 1
	fi
	# shellcheck disable=SC2086
	./pan -m$depth $run >pan.out 2>&1 || true

	states=$(awk '/states, stored/ { print $1; exit }' pan.out)
	deep=$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' pan.out)
	took=$(sed -n 's/.*elapsed time \([0-9.]*\) seconds.*/\1/p' pan.out)
	if grep -q 'errors: 0$' pan.out && ! grep -q 'Search not completed\|max search depth too small' pan.out; then
		found=holds
	elif grep -qF "$violated" pan.out; then
		found=fails
	else
		found="broke off"
	fi
	result=$found
	if [ "$found" != "$expected" ]; then
		result="$found, EXPECTED: $expected"
		bad=1
	fi
	say "$name" "P$properties" "${states:-?}" "${deep:-?}" "${took:-?}" "$result"
	if [ "$found" = "broke off" ]; then
		cat pan.out >&2
	elif [ "$found" = fails ] && [ "$wanted" != "  " ]; then
		# spin -t does not always take the same steps.
		./pan -r -S 2>&1 | sed '/^spin: trail ends/,$d; /^MSC:/d' >"$here/$name.trail.txt"
		echo "  the counter-example: $name.trail.txt"
	fi
}
holds() { check holds "$@"; }
fails() { check fails "$@"; }

say configuration properties states depth seconds result

# What the others are made smaller by: no message is late or comes twice, and clocks run at the same speed.
calm="-DSTALE=0 -DSLIPS=0"
once="-DTAKEOVERS=0 -DRELEASES=0"
emptied="-DLOSSES=1 -DSINCE"
lock="-DFIRST=0 -DLAST=0"
live="-DLIVENESS -DDROPS=1 -DRENEWALS=1 -DRELEASES=0 -DGRANTS=2"

# shellcheck disable=SC2086 # each of these is several words
{
	holds three-clients lease "1 2 3 6 7 8" $calm -DCLIENTS=3 -DTAKEOVERS=2 -DRELEASES=0 -DTTL=2
	holds uneven-clocks lease "1 2 3 6 7 8" -DSTALE=0
	holds late-messages lease "1 2 3 6 7 8" -DSLIPS=0
	holds claims-again lease "1 2 3 6 7 8" $calm -DGRANTS=2 -DTAKEOVERS=2
	holds two-ticks lease "1 2 3 7 8" $calm -DTICKS=2 -DRELEASES=0
	holds at-most-once lease "1 2 3 5 6 7 8" $once -DSLIPS=0
	holds at-most-once-emptied lease "1 2 3 5 7 8" $once $emptied -DSLIPS=0 -DONE_HOLDER_AFTER_LOSS
	holds emptied lease "1 2 3 7 8" $emptied -DSLIPS=0 -DRELEASES=0 -DONE_HOLDER_AFTER_LOSS
	holds emptied-release lease "2 3 7 8" $calm $emptied -DGRANTS=2
	holds emptied-two lease "2 3 7 8" $calm $emptied -DTICKS=2 -DRELEASES=0 -DTTL=2
	holds emptied-known lease "2 3 7 8" $calm -DLOSSES=1
	holds failover lease "2 3 7 8" $calm -DFAILOVERS=1 -DRELEASES=0
	holds resource lease "2 4" -DSLIPS=0 -DRELEASES=0 -DRESOURCE
	holds resource-emptied lease "2 4" $calm -DLOSSES=1 -DRELEASES=0 -DRESOURCE
	holds resource-failover lease "2 4" $calm -DFAILOVERS=1 -DRELEASES=0 -DRESOURCE
	holds plain-lock lease "1 2 6 7 8" $calm $lock -DGRANTS=2
	holds plain-lock-emptied lease "2 4 8" $calm $lock -DLOSSES=1 -DRESOURCE -DLOCKED=3
	holds in-the-end lease "9" $calm $live
	holds alone lease "2 3 7 8" $calm $emptied -DALONE -DRELEASES=0 -DTTL=2
	holds alone-idle lease "9" $calm $live -DLOSSES=1 -DSINCE -DALONE -DIDLE
	holds step step "1 12" -DSTEPS=1
	holds step-middling step "1 12" -DSTEPS=1 -DSTEP=MID
	holds step-first step "1 12" -DSTEP=MID
	holds step-accept step "1" -DSTEADY=0
	holds step-back step "1 12" -DBACK
	holds step-frozen step "1" -DSTEPS=3 -DTTL=2 -DFROZEN
	holds repair repair "13 14" -DACCEPTS
	holds outage outage "15"
	holds queue queue "10"
	holds queue-in-order queue "11"

	fails broken-deadline lease "1" $calm -DBROKEN_DEADLINE_FROM_ANSWER
	fails broken-margin lease "1" -DSTALE=0 -DRELEASES=0 -DBROKEN_NO_MARGIN
	fails broken-context lease "1" $calm -DBROKEN_CONTEXT_OUTLIVES_LEASE
	fails broken-tokens lease "2" $calm $emptied -DLOSSES=1 -DBROKEN_TOKEN_COUNTS_ONLY
	fails broken-settle lease "3" $calm -DBROKEN_SETTLE_DELETES
	fails broken-watermarks lease "3" $calm -DLOSSES=1 -DBROKEN_CLAIM_BRINGS_NO_WATERMARK
	fails broken-gap lease "7" $calm $emptied -DTICKS=2 -DRELEASES=0 -DBROKEN_GAP_STAYS_OPEN
	fails broken-resource lease "4" $calm -DRESOURCE -DBROKEN_RESOURCE_TAKES_ALL
	fails broken-resource-tokens lease "4" $calm -DLOSSES=1 -DRESOURCE -DBROKEN_TOKEN_COUNTS_ONLY
	fails broken-once lease "5" $calm $once -DBROKEN_TAKEOVERS_ARE_NOT_COUNTED
	fails broken-request lease "6" $calm -DBROKEN_CLAIM_HAS_NO_REQUEST
	fails broken-memory lease "6" $calm -DBROKEN_SETTLED_IS_FORGOTTEN
	fails broken-fence lease "7" $calm -DBROKEN_ANY_TOKEN
	fails broken-late-answer lease "8" $calm -DBROKEN_LATE_ANSWER_IS_TAKEN
	fails broken-expiry lease "9" $calm $live -DBROKEN_LEASE_NEVER_ENDS
	fails broken-step-bound step "1" -DSTEPS=1 -DUNBOUND
	fails broken-step-first step "1" -DSTEPS=1 -DSTEP=MID -DBROKEN_STEP_FIRST_TAKES_OVER
	fails broken-step-quiet step "1" -DSTEPS=1 -DSTEP=MID -DBROKEN_STEP_NO_QUIET
	fails broken-step-return step "1" -DBACK -DBROKEN_STEP_RETURN_NO_QUIET
	fails broken-step-frozen step "1" -DSTEPS=3 -DTTL=2 -DFROZEN -DBROKEN_STEP_ACCEPT_NO_QUIET
	fails broken-step-lease step "12" -DBROKEN_STEP_LEASE_LASTS
	fails broken-alone-asks lease "3" $calm $emptied -DALONE -DRELEASES=0 -DTTL=2 -DBROKEN_ALONE_ASKS_NOBODY
	fails broken-alone-now lease "9" $calm $live -DLOSSES=1 -DSINCE -DALONE -DIDLE -DBROKEN_ALONE_AS_OF_NOW
	fails broken-repair-trust repair "13" -DBROKEN_REPAIR_TRUSTS_AT_ONCE
	fails broken-repair-watermark repair "13" -DACCEPTS -DBROKEN_REPAIR_WATERMARK_ANYWHERE
	fails broken-repair-exceptions repair "14" -DACCEPTS -DBROKEN_REPAIR_NO_EXCEPTIONS
	fails broken-outage outage "15" -DBROKEN_OUTAGE
	fails broken-outage-late outage "15" -DBROKEN_OUTAGE_LATE
	fails broken-outage-sent outage "15" -DBROKEN_OUTAGE_SENT
	fails broken-outage-gaps outage "15" -DBROKEN_OUTAGE_GAPS
	fails broken-outage-grace outage "15" -DGRACE=RETURN-1
	fails broken-poll queue "10" -DBROKEN_NO_POLL
	fails broken-waiters queue "10" -DBROKEN_WAITERS_NEVER_EXPIRE
	fails broken-queue queue "11" -DBROKEN_NOBODY_IS_BEHIND

	# Ranks and reports.
	holds ranks ranks "9"
	fails broken-report-trusted ranks "9" -DBROKEN_REPORT_TRUSTED

	# Limits: what is not promised, so that nobody has to guess.
	fails limit-emptied lease "3" $calm $emptied -DNEVER_AGAIN_WHATEVER
	fails limit-emptied-unknown lease "3" $calm -DLOSSES=1 -DNEVER_AGAIN_WHATEVER
	fails limit-emptied-twice lease "3" $calm $once -DLOSSES=2 -DSINCE -DTICKS=2 -DTTL=2
	fails limit-emptied-release lease "1" $calm $emptied -DGRANTS=2 -DONE_HOLDER_AFTER_LOSS
	fails limit-emptied-lock lease "1" $calm $lock -DLOSSES=1 -DONE_HOLDER_AFTER_LOSS
	fails limit-failover lease "1" $calm -DFAILOVERS=1 -DONE_HOLDER_AFTER_LOSS
	fails limit-failover-settled lease "3" $calm -DFAILOVERS=1 -DNEVER_AGAIN_WHATEVER
	fails limit-failover-clock lease "2" $calm -DFAILOVERS=1 -DLIMIT_CLOCK_GOES_BACK
	fails limit-alone lease "9" $calm $live -DLOSSES=1 -DSINCE -DALONE
	fails limit-step-third step "1" -DSTEPS=1 -DSTEP=SMALL -DMARGIN=0
	fails limit-step-unseen step "1" -DBACK -DUNSEEN
	fails limit-outage-flaps outage "15" -DFLAPS
	fails limit-outage-cut outage "15" -DCUT
	fails limit-repair-many repair "14" -DACCEPTS -DREMEMBERED=1
	fails limit-queue-late queue "10" -DLIMIT_ALWAYS_LATE
}

if [ $checked = 0 ]; then
	echo "model: no configuration has the name $*: see docs/model/README.md" >&2
	exit 2
fi
if [ $bad != 0 ]; then
	echo "model: not as expected: run internal/scripts/model.sh NAME, and read NAME.trail.txt (docs/model/README.md says how)" >&2
fi
exit $bad
