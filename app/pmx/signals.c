#include "signals.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static atomic_int got;

static void on_signal(int sig)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&got, &none, sig))
		_exit(128 + sig);
}

void signals_catch(void)
{
	struct sigaction a = { .sa_handler = on_signal }; // no SA_RESTART: sleeps end early

	sigemptyset(&a.sa_mask);
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
}

const atomic_int *signals_flag(void)
{
	return &got;
}

int signals_got(void)
{
	return atomic_load(&got);
}

void signals_block(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}
