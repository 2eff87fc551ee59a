/* SPDX-License-Identifier: Apache-2.0 */
/* Two hierarchies may carry memory: v1's "memory" controller, and v2's only one. /proc/self/cgroup
 * names our group in each, /proc/self/mountinfo where each is mounted and from which group on (a
 * container sees a part of the tree). From our group we walk up to the mount, one folder a step. */
#include "store/cgroup.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "store/procfile.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 4096

/* v1 has no word for "no limit": it shows the largest multiple of a page that fits in 63 bits. */
#define V1_NO_LIMIT (UINT64_C(1) << 62)

struct hierarchy {
    const char *version;  /* "v1" */
    const char *fs_type;  /* of the mount */
    const char *option;   /* that its super options contain; NULL: any */
    const char *limit[2]; /* files; the less of them counts; NULL: none */
    const char *usage;
    const char *reclaimable[2]; /* keys of memory.stat */
};

static const struct hierarchy hierarchies[] = {
    {"v1",
     "cgroup",
     "memory",
     {"memory.limit_in_bytes", NULL},
     "memory.usage_in_bytes",
     {"total_inactive_file", "total_active_file"}},
    {"v2",
     "cgroup2",
     NULL,
     {"memory.max", "memory.high"},
     "memory.current",
     {"inactive_file", "active_file"}},
};

/* --- where our group is ----------------------------------------------------------------------- */

/* True when list, comma-separated and list_bytes long, has the item. */
static bool has_item(const char *list, size_t list_bytes, const char *item)
{
    const size_t item_bytes = strlen(item);
    const char *end = list + list_bytes;

    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        const size_t n = (size_t)((comma != NULL ? comma : end) - list);

        if (n == item_bytes && memcmp(list, item, n) == 0)
            return true;
        list += n + 1;
    }
    return false;
}

/* Our group's path, from a line "ID:CONTROLLERS:PATH". Returns false when we are in none. */
static bool find_group(const char *text, const struct hierarchy *kind, char path[PATH_BYTES])
{
    for (const char *line = text; line != NULL && *line != 0; line = strchr(line, '\n')) {
        line += *line == '\n';
        const size_t line_bytes = strcspn(line, "\n");
        const char *first = memchr(line, ':', line_bytes);
        const char *second =
            first != NULL ? memchr(first + 1, ':', line_bytes - (size_t)(first + 1 - line)) : NULL;
        if (second == NULL)
            continue;
        const size_t controllers = (size_t)(second - first - 1);
        const bool ours = kind->option != NULL ? has_item(first + 1, controllers, kind->option)
                                               : line[0] == '0' && controllers == 0;
        const size_t path_bytes = line_bytes - (size_t)(second + 1 - line);
        if (!ours || path_bytes >= PATH_BYTES)
            continue;
        memcpy(path, second + 1, path_bytes);
        path[path_bytes] = 0;
        return true;
    }
    return false;
}

/* Octal escapes of mountinfo (\040 for a space), in place. */
static void unescape(char *text)
{
    char *out = text;

    for (const char *in = text; *in != 0; in++) {
        if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] >= '0' && in[2] <= '7' &&
            in[3] >= '0' && in[3] <= '7') {
            *out++ = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
            in += 3;
        } else {
            *out++ = *in;
        }
    }
    *out = 0;
}

struct mount {
    char root[PATH_BYTES];  /* the group that is mounted */
    char point[PATH_BYTES]; /* where */
};

/* One line: ID PARENT DEVICE ROOT POINT OPTIONS [FIELDS...] - TYPE SOURCE SUPER-OPTIONS. */
static bool parse_mount(const char *line, const struct hierarchy *kind, struct mount *ret_mount)
{
    char type[32], super[1024];
    const char *dash = strstr(line, " - ");

    if (dash == NULL || dash > line + strcspn(line, "\n") ||
        sscanf(line, "%*s %*s %*s %4095s %4095s", ret_mount->root, ret_mount->point) != 2 ||
        sscanf(dash, " - %31s %*s %1023s", type, super) != 2)
        return false;
    if (strcmp(type, kind->fs_type) != 0 ||
        (kind->option != NULL && !has_item(super, strlen(super), kind->option)))
        return false;
    unescape(ret_mount->root);
    unescape(ret_mount->point);
    return true;
}

static bool find_mount(const char *text, const struct hierarchy *kind, struct mount *ret_mount)
{
    for (const char *line = text; line != NULL && *line != 0; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (parse_mount(line, kind, ret_mount))
            return true;
    }
    return false;
}

/* The group's path below the mount. A group outside of what is mounted (a foreign cgroup namespace)
 * leaves only the mount itself to look at. */
static const char *path_below(const struct mount *mount, const char *group)
{
    const size_t root_bytes = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);

    if (strncmp(group, mount->root, root_bytes) != 0 ||
        (group[root_bytes] != '/' && group[root_bytes] != 0) || strstr(group, "/..") != NULL)
        return "";
    return strcmp(group + root_bytes, "/") == 0 ? "" : group + root_bytes;
}

/* --- room of one group ------------------------------------------------------------------------ */

/* A file with one number. *ret_found false: there is no such file. */
static int read_number(const char *root, const char *folder, const char *file, bool *ret_found,
                       uint64_t *ret_value, struct lp_error *err)
{
    char path[PATH_BYTES], *text;

    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, file) >= sizeof(path))
        return lp_error_set(err, LP_EIO, "path too long: %s", folder);
    const int rc = lp_store_procfile_read(root, path, &text, err);
    *ret_found = rc == 0;
    if (rc < 0)
        return rc == LP_ENOENT ? 0 : rc;
    const bool good = lp_store_procfile_number(text, ret_value);
    lp_mem_free(text);
    return good ? 0 : lp_error_set(err, LP_EIO, "%s%s: not a number", root, path);
}

/* UINT64_MAX: the group has no limit. */
static int read_limit(const char *root, const char *folder, const struct hierarchy *kind,
                      uint64_t *ret_limit, struct lp_error *err)
{
    int rc;

    *ret_limit = UINT64_MAX;
    for (size_t i = 0; i < LP_ARRAY_LEN(kind->limit) && kind->limit[i] != NULL; i++) {
        uint64_t value;
        bool found;

        LP_TRY(rc, read_number(root, folder, kind->limit[i], &found, &value, err));
        if (found && value < V1_NO_LIMIT)
            *ret_limit = LP_MIN(*ret_limit, value);
    }
    return 0;
}

/* File pages of the group and of those below it. */
static int read_reclaimable(const char *root, const char *folder, const struct hierarchy *kind,
                            uint64_t *ret_bytes, struct lp_error *err)
{
    char path[PATH_BYTES], *text;

    *ret_bytes = 0;
    if ((size_t)snprintf(path, sizeof(path), "%s/memory.stat", folder) >= sizeof(path))
        return lp_error_set(err, LP_EIO, "path too long: %s", folder);
    const int rc = lp_store_procfile_read(root, path, &text, err);
    if (rc < 0)
        return rc == LP_ENOENT ? 0 : rc;
    for (size_t i = 0; i < LP_ARRAY_LEN(kind->reclaimable); i++) {
        uint64_t value;

        if (lp_store_procfile_find(text, kind->reclaimable[i], &value) &&
            !lp_add_u64(*ret_bytes, value, ret_bytes))
            *ret_bytes = UINT64_MAX;
    }
    lp_mem_free(text);
    return 0;
}

static int group_room(const char *root, const char *folder, const struct hierarchy *kind,
                      uint64_t *ret_room, struct lp_error *err)
{
    uint64_t limit, usage, reclaimable;
    bool found;
    int rc;

    *ret_room = UINT64_MAX;
    LP_TRY(rc, read_limit(root, folder, kind, &limit, err));
    if (limit == UINT64_MAX)
        return 0;
    LP_TRY(rc, read_number(root, folder, kind->usage, &found, &usage, err));
    LP_TRY(rc, read_reclaimable(root, folder, kind, &reclaimable, err));
    if (!found)
        usage = 0;
    const uint64_t needed = usage - LP_MIN(usage, reclaimable);
    *ret_room = limit - LP_MIN(limit, needed);
    return 0;
}

/* --- the walk --------------------------------------------------------------------------------- */

static void make_label(const char *version, const char *path, char *label, size_t label_bytes)
{
    char full[PATH_BYTES + 32];
    const char *from = path[0] != 0 ? path : "/";
    const size_t fixed = strlen("cgroup v1 "), room = label_bytes - 1;
    const size_t path_bytes = strlen(from);

    if (fixed + path_bytes > room)
        from += fixed + path_bytes - room;
    (void)snprintf(full, sizeof(full), "cgroup %s %s", version, from);
    (void)snprintf(label, label_bytes, "%s", full);
}

/* From the deepest group up to the mount. */
static int walk_up(const char *root, const struct mount *mount, const char *below,
                   const struct hierarchy *kind, uint64_t *room, char *label, size_t label_bytes,
                   struct lp_error *err)
{
    char folder[2 * PATH_BYTES];
    int rc;

    (void)snprintf(folder, sizeof(folder), "%s%s", mount->point, below);
    const size_t mount_bytes = strlen(mount->point);
    for (;;) {
        uint64_t here;

        LP_TRY(rc, group_room(root, folder, kind, &here, err));
        if (here < *room) {
            *room = here;
            make_label(kind->version, folder + mount_bytes, label, label_bytes);
        }
        char *slash = strrchr(folder + mount_bytes, '/');
        if (slash == NULL)
            return 0;
        *slash = 0;
    }
}

static int hierarchy_room(const char *root, const char *groups, const char *mounts,
                          const struct hierarchy *kind, uint64_t *room, char *label,
                          size_t label_bytes, struct lp_error *err)
{
    char group[PATH_BYTES];
    struct mount mount;

    if (!find_group(groups, kind, group) || !find_mount(mounts, kind, &mount))
        return 0;
    return walk_up(root, &mount, path_below(&mount, group), kind, room, label, label_bytes, err);
}

int lp_store_cgroup_room(const char *root, uint64_t *ret_room_bytes, char *label,
                         size_t label_bytes, struct lp_error *err)
{
    char *groups = NULL, *mounts = NULL;
    uint64_t room = UINT64_MAX;
    int rc;

    label[0] = 0;
    rc = lp_store_procfile_read(root, "/proc/self/cgroup", &groups, err);
    if (rc == 0)
        rc = lp_store_procfile_read(root, "/proc/self/mountinfo", &mounts, err);
    for (size_t i = 0; rc == 0 && i < LP_ARRAY_LEN(hierarchies); i++)
        rc = hierarchy_room(root, groups, mounts, &hierarchies[i], &room, label, label_bytes, err);
    lp_mem_free(groups);
    lp_mem_free(mounts);
    /* A kernel without cgroups has neither file. */
    if (rc < 0 && rc != LP_ENOENT)
        return rc;
    *ret_room_bytes = room;
    return 0;
}
