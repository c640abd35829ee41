#!/bin/sh
# A placeholder for the job that builds a gold table from clean data: gold.sh SOURCE PERIOD
set -eu
echo "$1: built $2, attempt ${INTERLOCK_ATTEMPT:-1}"
