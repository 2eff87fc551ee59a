/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/machine.h"

#include "base/bytes.h"
#include "bench/bench.h"
#include "codec/ops.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* The value of a "key : value" line of /proc/cpuinfo, of the first processor. */
static void look_up(const char *key, char *ret_value, size_t room)
{
    FILE *const file = fopen("/proc/cpuinfo", "re");
    const size_t key_bytes = strlen(key);
    char line[512];

    (void)snprintf(ret_value, room, "?");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *const colon = strchr(line, ':');

        if (colon == NULL || strncmp(line, key, key_bytes) != 0 ||
            (line[key_bytes] != '\t' && line[key_bytes] != ' '))
            continue;
        (void)snprintf(ret_value, room, "%s", colon + 1 + (colon[1] == ' '));
        ret_value[strcspn(ret_value, "\n")] = '\0';
        break;
    }
    if (file != NULL)
        (void)fclose(file);
}

static void look_at_cpu(struct bench_machine *machine)
{
    struct utsname name;
    char model_name[80], family[16], model[16];

    if (uname(&name) != 0)
        (void)snprintf(name.machine, sizeof(name.machine), "?");
    look_up("model name", model_name, sizeof(model_name));
    look_up("cpu family", family, sizeof(family));
    look_up("model", model, sizeof(model));
    (void)snprintf(machine->cpu, sizeof(machine->cpu), "%.16s, %s (family %s, model %s)",
                   name.machine, model_name, family, model);
}

static void look_at_tiers(struct bench_machine *machine)
{
    const struct lp_codec_ops *tiers[LP_CODEC_TIERS_MAX];
    const int n = lp_codec_ops_tiers(tiers);

    for (int i = 0; i < n; i++) {
        const size_t used = strlen(machine->tiers);

        (void)snprintf(machine->tiers + used, sizeof(machine->tiers) - used, "%s%s",
                       i > 0 ? ", " : "", tiers[i]->tier);
    }
    (void)snprintf(machine->tier, sizeof(machine->tier), "%s", lp_codec_ops()->tier);
}

void bench_machine_look(struct bench_machine *ret_machine)
{
    cpu_set_t allowed;

    memset(ret_machine, 0, sizeof(*ret_machine));
    look_at_cpu(ret_machine);
    look_at_tiers(ret_machine);
    ret_machine->llc_bytes = lp_bench_llc_bytes();
    ret_machine->n_cpus =
        sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? (uint32_t)CPU_COUNT(&allowed) : 1;
}
