#!/bin/sh
# A placeholder for the job that writes the daily report: report.sh DATE
set -eu
echo "report of $1, attempt ${INTERLOCK_ATTEMPT:-1}"
