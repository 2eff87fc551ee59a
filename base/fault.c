/* SPDX-License-Identifier: Apache-2.0 */
/* The one hook that fault injection has. */
#include "base/fault.h"

#include <stddef.h>

lp_fault_cb lp_fault_hook;
static void *fault_user;

bool lp_fault_ask(enum lp_fault_site site)
{
    const lp_fault_cb hook = __atomic_load_n(&lp_fault_hook, __ATOMIC_ACQUIRE);

    return hook != NULL && hook(site, fault_user);
}

void lp_fault_set_hook(lp_fault_cb hook, void *user)
{
    /* The release pairs with the acquire in lp_fault_ask: who sees the hook sees its user. */
    fault_user = user;
    __atomic_store_n(&lp_fault_hook, hook, __ATOMIC_RELEASE);
}
