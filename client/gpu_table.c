/* SPDX-License-Identifier: Apache-2.0 */
#include "client/gpu_table.h"

#include "base/bytes.h"

#include <string.h>

static void set_lane(struct lp_gpu_table_params *p, const struct lp_lane *lane)
{
    p->lane_levels = lane->n_levels;
    p->lane_base_bytes = lane->base_bytes;
    p->lane_exponent_bits = lane->exponent_bits;
    p->lane_mantissa_bits = lane->mantissa_bits;
    p->lane_trailing_bits = lane->trailing_bits;
    p->lane_sign_bits = lane->sign_bits;
    p->lane_fixed = lane->fixed_value;
    p->lane_widths = lane->widths;
    p->lane_ranks = lane->rank;
    if (lane->window != LP_LANE_WINDOW_COLUMNS)
        return;
    p->lane_columns = lane->columns;
    p->lane_column_period = lane->column_period;
    p->lane_column_pitch = lane->column_period + LP_LANE_COLUMN_SLACK;
    p->lane_column_groups = lane->n_columns / lane->column_period;
    p->lane_column_span = lane->column_span;
}

static void set_ibp(struct lp_gpu_table_params *p, const struct lp_ibp *ibp)
{
    p->ibp_word_bytes = ibp->word_bytes;
    p->ibp_words = ibp->n_words;
    p->ibp_groups = ibp->n_groups;
    p->ibp_mask = ibp->set->mask;
    p->ibp_value = ibp->set->value;
}

static void set_dict(struct lp_gpu_table_params *p, const struct lp_dict *dict)
{
    p->dict_levels = dict->n_levels;
    p->dict_n_values = dict->n_values;
    p->dict_widths = dict->widths;
    p->dict_values = dict->values;
}

static void set_sparse(struct lp_gpu_table_params *p, const struct lp_sparse *sparse)
{
    p->sparse_values = sparse->values;
    switch ((enum lp_sparse_values)sparse->values) {
    case LP_SPARSE_VALUES_ONE:
        p->sparse_one = lp_load_u64(sparse->one);
        break;
    case LP_SPARSE_VALUES_LANE:
        set_lane(p, &sparse->lane);
        break;
    case LP_SPARSE_VALUES_DICT:
        set_dict(p, &sparse->dict);
        break;
    case LP_SPARSE_VALUES_COUNTS:
        set_dict(p, &sparse->counts.symbols);
        p->counts_columns = sparse->counts.columns;
        break;
    case LP_SPARSE_VALUES_RAW:
        break;
    }
}

static void set_codec(struct lp_gpu_table_params *p, const struct lp_table *table)
{
    switch ((enum lp_codec_id)table->codec) {
    case LP_CODEC_LANE:
    case LP_CODEC_ZIP7:
        set_lane(p, &table->lane);
        break;
    case LP_CODEC_IBP:
        set_ibp(p, &table->ibp);
        break;
    case LP_CODEC_DICT:
        set_dict(p, &table->dict);
        break;
    case LP_CODEC_SPARSE:
        set_sparse(p, &table->sparse);
        break;
    case LP_CODEC_RAW:
    case LP_CODEC_AUTO:
    case LP_CODEC_END:
        break;
    }
}

void lp_client_gpu_table_params(struct lp_gpu_table_params *ret_params, const struct lp_view *view,
                                const uint64_t *segments_dev)
{
    const struct lp_table *const table = view->table;
    struct lp_gpu_table_params *const p = ret_params;

    memset(p, 0, sizeof(*p));
    p->codec = table->codec;
    p->layout = table->layout;
    p->dtype = table->geometry.dtype;
    p->elem_bytes = table->geometry.elem_bytes;
    p->record_elements = table->record_elements;
    p->last_elements = table->last_elements;
    p->align_bytes = table->align_bytes;
    p->stride = table->stride;
    p->index_entry_bytes = table->index_entry_bytes;
    p->n_records = table->n_records;
    p->n_elements = table->geometry.n_elements;
    p->segment_bytes = table->segment_bytes;
    p->last_segment_bytes = table->last_segment_bytes;
    p->records_per_segment = table->records_per_segment;
    p->n_segments = table->n_segments;
    p->segments_dev = segments_dev;
    p->index = view->index;
    p->index_bytes = table->index_bytes;
    set_codec(p, table);
}
