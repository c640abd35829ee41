#!/bin/sh
# A placeholder for the job that cleans one slice of raw data: silver.sh SOURCE PERIOD
set -eu
echo "$1: cleaned $2, attempt ${INTERLOCK_ATTEMPT:-1}"
