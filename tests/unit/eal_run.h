// EAL for a unit test: one lcore, no hugepages, no devices, and nothing left behind.
#pragma once

// Runs the tests within; returns what main returns.
int eal_run(const char *name, int (*tests)(void));
