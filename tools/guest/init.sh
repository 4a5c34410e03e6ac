#!/bin/sh
# The guest's first process: file systems, the watchdog's driver, its address if it has one, then the program on
# the command line.
export PATH=/usr/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
for word in $(cat /proc/cmdline); do
    case $word in
        guest.driver=*) driver=${word#*=} ;;
        guest.options=*) options=${word#*=} ;;
        guest.program=*) program=${word#*=} ;;
        guest.network=*) network=${word#*=} ;;
    esac
done
for module in /drivers/$driver/*; do
    case $module in
        */??-$driver.ko) insmod $module $options ;;
        *) insmod $module ;;
    esac
done
if [ "$network" ]; then
    for module in /drivers/network/*; do insmod $module; done
    ip link set lo up
    ip addr add $network dev eth0
    ip link set eth0 up
fi
stty -F /dev/ttyS1 -echo
exec python3 -I -S $program
