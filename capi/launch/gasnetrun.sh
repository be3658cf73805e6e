#!/bin/sh
# Starts a program of GASNet's by aqrun, with the options of GASNet's launchers:
#   gasnetrun_CONDUIT -n RANKS [-N HOSTS] [-E VARIABLE,...] [-v] [-t] PROGRAM ARGUMENTS...
set -eu

conduit=@CONDUIT@
name=$(basename "$0")
usage() {
	echo "$name: $1" >&2
	echo "usage: $name -n RANKS [-E VARIABLE,...] [-v] [-t] PROGRAM ARGUMENTS...; aqrun has more" >&2
	exit 2
}

ranks='' options=''
while [ $# -gt 0 ]; do
	option=$1
	case $option in
	-n | -np | -N | -E | -spawner)
		[ $# -ge 2 ] || usage "$option needs a value"
		value=$2
		shift
		;;
	-n[0-9]*) option=-n value=${1#-n} ;;
	-spawner=*) option=-spawner value=${1#-spawner=} ;;
	--) shift && break ;;
	-*) ;;
	*) break ;;
	esac
	shift
	case $option in
	-n | -np) ranks=$value ;;
	-N) [ "$value" = 1 ] || usage "-N $value: a job on several hosts is started by aqrun --host or --hostfile" ;;
	-E) ;;       # ranks have the whole environment
	-spawner) ;; # aqrun is the only one
	-v) options="$options --verbose" ;;
	-t) options="$options --dry-run" ;;
	-k) ;; # nothing is left that could be kept
	-h | --help | -help) usage "help" ;;
	*) usage "unknown option $option" ;;
	esac
done
[ $# -gt 0 ] || usage "the program is missing"
case $ranks in
'' | *[!0-9]*) usage "-n says how many ranks" ;;
esac

case $conduit in
smp | sci) options="$options --conduit sci" ;;
udp) options="$options --conduit udp" ;;
mpi) options="$options --mpi auto" ;;
esac
# shellcheck disable=SC2086 # options are words
exec "$(dirname "$0")/aqrun" -n "$ranks" $options -- "$@"
