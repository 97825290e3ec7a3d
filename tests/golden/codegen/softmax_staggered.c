#include "vector_math.h"
#include "runtime.h"
static void k_softmax_staggered_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  f32v p1_edge = {0};
  _Alignas(64) float row0[1040];
  #if SOFTWARE_PIPELINING
  {
    _Alignas(64) float row0_memory[7168];
    float *const row0_rooms = row0_memory + ((uintptr_t)p1 + 2048 - (uintptr_t)row0_memory) % 4096 / 4;
    f32v a0_at0 = {0};
    f32v a0_at1 = {0};
    f32v a0_1_at0 = {0};
    f32v a0_1_at1 = {0};
    f32v a0_2_at0 = {0};
    f32v a0_2_at1 = {0};
    f32v a0_3_at0 = {0};
    f32v a0_3_at1 = {0};
    f32v v2_at1 = {0};
    f32v a3_at1 = {0};
    f32v a3_at2 = {0};
    f32v a3_1_at1 = {0};
    f32v a3_1_at2 = {0};
    f32v a3_2_at1 = {0};
    f32v a3_2_at2 = {0};
    f32v a3_3_at1 = {0};
    f32v a3_3_at2 = {0};
    f32v v7_at2 = {0};
    f32v v11_at2 = {0};
    int v12_at2 = {0};
    int together;
    {
      const int64_t i1 = 0;
      together = stream && (stream ? (int64_t)((0 - (uintptr_t)(p1 + i1)) % least(LANES*4, 64)) / 4 : 0) == 0;
    }
    for (int64_t turn = begin; turn < end + 2; turn++) {
      const int64_t i0_at0 = turn - 0;
      const int has0 = i0_at0 >= begin && i0_at0 < end;
      const int64_t i0_at1 = turn - 1;
      const int has1 = i0_at1 >= begin && i0_at1 < end;
      const int64_t i0_at2 = turn - 2;
      const int has2 = i0_at2 >= begin && i0_at2 < end;
      float *const row0_at0 = row0_rooms + (turn + 3) % 3*2048;
      float *const row0_at1 = row0_rooms + (turn + 2) % 3*2048;
      float *const row0_at2 = row0_rooms + (turn + 1) % 3*2048;
      if (has2) {
        a3_at2 = a3_at1;
        a3_1_at2 = a3_1_at1;
        a3_2_at2 = a3_2_at1;
        a3_3_at2 = a3_3_at1;
        v7_at2 = SPLAT(f32v, (float)f64_sum((((f64_from_f32(a3_at2) + f64_from_f32(a3_1_at2)) + f64_from_f32(a3_2_at2)) + f64_from_f32(a3_3_at2))));
        v11_at2 = f32_rec(v7_at2);
        v12_at2 = f32_is_far(v11_at2);
      }
      if (has1) {
        a0_at1 = a0_at0;
        a0_1_at1 = a0_1_at0;
        a0_2_at1 = a0_2_at0;
        a0_3_at1 = a0_3_at0;
        v2_at1 = SPLAT(f32v, f32_max(f32_max_so_far(f32_max_so_far(f32_max_so_far(a0_at1, a0_1_at1), a0_2_at1), a0_3_at1)));
        a3_at1 = SPLAT(f32v, 0x0.0p+0f);
        a3_1_at1 = SPLAT(f32v, 0x0.0p+0f);
        a3_2_at1 = SPLAT(f32v, 0x0.0p+0f);
        a3_3_at1 = SPLAT(f32v, 0x0.0p+0f);
      }
      if (has0) {
        a0_at0 = SPLAT(f32v, -__builtin_inff());
        a0_1_at0 = SPLAT(f32v, -__builtin_inff());
        a0_2_at0 = SPLAT(f32v, -__builtin_inff());
        a0_3_at0 = SPLAT(f32v, -__builtin_inff());
      }
      if (together && has0 && has1 && has2) {
        const int stream = 1;
        const int head = 0;
        int64_t step = head;
        if (head > 0) {
          {
            const int64_t i2 = 0;
            const int i2_head = head;
          }
          {
            const int64_t i3 = 0;
            const int i3_head = head;
          }
          {
            const int64_t i1 = 0;
            const int i1_head = head;
            const f32v v10 = f32_load_part(row0_at2 + i1, i1_head);
            const f32v v13 = f32_nearly_over(v10, v7_at2, v11_at2, v12_at2);
            if (stream && 1040 % LANES == 0 && i0_at2 > begin) f32_stream(p1 + INT64_C(1040)*i0_at2 + i1 + i1_head - LANES, f32_joined(p1_edge, v13, i1_head)); else f32_store_part(p1 + INT64_C(1040)*i0_at2 + i1, v13, i1_head);
          }
        }
        for (; step + 4*LANES <= INT64_C(1040); step += 4*LANES) {
          {
            const int64_t i2 = step;
            const f32v v1 = f32_load(p0 + i2 + INT64_C(1040)*i0_at0);
            const int64_t i3 = step;
            const f32v v4 = f32_load(p0 + i3 + INT64_C(1040)*i0_at1);
            const int64_t i1 = step + 0*LANES;
            const f32v v10 = f32_load(row0_at2 + i1);
            a0_at0 = f32_above(v1, a0_at0);
            fetch_of(0, p0 + i3 + INT64_C(1040)*i0_at0 + INT64_C(1040));
            const f32v v5 = (v4 - v2_at1);
            const f32v v6 = f32_exp_of_deficit(v5);
            f32_store(row0_at1 + i3, v6);
            a3_at1 = (a3_at1 + v6);
            const f32v v13 = f32_nearly_over(v10, v7_at2, v11_at2, v12_at2);
            if (stream) f32_stream(p1 + INT64_C(1040)*i0_at2 + i1, v13); else f32_store(p1 + INT64_C(1040)*i0_at2 + i1, v13);
          }
          {
            const int64_t i2 = step;
            const int64_t i2_1 = i2 + 1*LANES;
            const f32v v1 = f32_load(p0 + i2_1 + INT64_C(1040)*i0_at0);
            const int64_t i3 = step;
            const int64_t i3_1 = i3 + 1*LANES;
            const f32v v4 = f32_load(p0 + i3_1 + INT64_C(1040)*i0_at1);
            const int64_t i1 = step + 1*LANES;
            const f32v v10 = f32_load(row0_at2 + i1);
            a0_1_at0 = f32_above(v1, a0_1_at0);
            fetch_of(1, p0 + i3_1 + INT64_C(1040)*i0_at0 + INT64_C(1040));
            const f32v v5 = (v4 - v2_at1);
            const f32v v6 = f32_exp_of_deficit(v5);
            f32_store(row0_at1 + i3_1, v6);
            a3_1_at1 = (a3_1_at1 + v6);
            const f32v v13 = f32_nearly_over(v10, v7_at2, v11_at2, v12_at2);
            if (stream) f32_stream(p1 + INT64_C(1040)*i0_at2 + i1, v13); else f32_store(p1 + INT64_C(1040)*i0_at2 + i1, v13);
          }
          {
            const int64_t i2 = step;
            const int64_t i2_2 = i2 + 2*LANES;
            const f32v v1 = f32_load(p0 + i2_2 + INT64_C(1040)*i0_at0);
            const int64_t i3 = step;
            const int64_t i3_2 = i3 + 2*LANES;
            const f32v v4 = f32_load(p0 + i3_2 + INT64_C(1040)*i0_at1);
            const int64_t i1 = step + 2*LANES;
            const f32v v10 = f32_load(row0_at2 + i1);
            a0_2_at0 = f32_above(v1, a0_2_at0);
            fetch_of(2, p0 + i3_2 + INT64_C(1040)*i0_at0 + INT64_C(1040));
            const f32v v5 = (v4 - v2_at1);
            const f32v v6 = f32_exp_of_deficit(v5);
            f32_store(row0_at1 + i3_2, v6);
            a3_2_at1 = (a3_2_at1 + v6);
            const f32v v13 = f32_nearly_over(v10, v7_at2, v11_at2, v12_at2);
            if (stream) f32_stream(p1 + INT64_C(1040)*i0_at2 + i1, v13); else f32_store(p1 + INT64_C(1040)*i0_at2 + i1, v13);
          }
          {
            const int64_t i2 = step;
            const int64_t i2_3 = i2 + 3*LANES;
            const f32v v1 = f32_load(p0 + i2_3 + INT64_C(1040)*i0_at0);
            const int64_t i3 = step;
            const int64_t i3_3 = i3 + 3*LANES;
            const f32v v4 = f32_load(p0 + i3_3 + INT64_C(1040)*i0_at1);
            const int64_t i1 = step + 3*LANES;
            const f32v v10 = f32_load(row0_at2 + i1);
            a0_3_at0 = f32_above(v1, a0_3_at0);
            fetch_of(3, p0 + i3_3 + INT64_C(1040)*i0_at0 + INT64_C(1040));
            const f32v v5 = (v4 - v2_at1);
            const f32v v6 = f32_exp_of_deficit(v5);
            f32_store(row0_at1 + i3_3, v6);
            a3_3_at1 = (a3_3_at1 + v6);
            const f32v v13 = f32_nearly_over(v10, v7_at2, v11_at2, v12_at2);
            if (stream) f32_stream(p1 + INT64_C(1040)*i0_at2 + i1, v13); else f32_store(p1 + INT64_C(1040)*i0_at2 + i1, v13);
          }
        }
        for (; step + LANES <= INT64_C(1040); step += LANES) {
          {
            const int64_t i2 = step;
            const f32v v1 = f32_load(p0 + i2 + INT64_C(1040)*i0_at0);
            const int64_t i3 = step;
            const f32v v4 = f32_load(p0 + i3 + INT64_C(1040)*i0_at1);
            const int64_t i1 = step;
            const f32v v10 = f32_load(row0_at2 + i1);
            a0_at0 = f32_above(v1, a0_at0);
            fetch(p0 + i3 + INT64_C(1040)*i0_at0 + INT64_C(1040));
            const f32v v5 = (v4 - v2_at1);
            const f32v v6 = f32_exp_of_deficit(v5);
            f32_store(row0_at1 + i3, v6);
            a3_at1 = (a3_at1 + v6);
            const f32v v13 = f32_nearly_over(v10, v7_at2, v11_at2, v12_at2);
            if (stream) f32_stream(p1 + INT64_C(1040)*i0_at2 + i1, v13); else f32_store(p1 + INT64_C(1040)*i0_at2 + i1, v13);
          }
        }
        if (step < INT64_C(1040)) {
          {
            const int64_t i2 = step;
            const int i2_rest = (int)(INT64_C(1040) - step);
            const f32v v1 = f32_load_part(p0 + i2 + INT64_C(1040)*i0_at0, i2_rest);
            a0_at0 = f32_above(f32_select(lanes_below(i2_rest), v1, SPLAT(f32v, -__builtin_inff())), a0_at0);
          }
          {
            const int64_t i3 = step;
            const int i3_rest = (int)(INT64_C(1040) - step);
            const f32v v4 = f32_load_part(p0 + i3 + INT64_C(1040)*i0_at1, i3_rest);
            const f32v v5 = (v4 - v2_at1);
            const f32v v6 = f32_exp_of_deficit(v5);
            f32_store_part(row0_at1 + i3, v6, i3_rest);
            a3_at1 = (a3_at1 + f32_select(lanes_below(i3_rest), v6, SPLAT(f32v, 0x0.0p+0f)));
          }
          {
            const int64_t i1 = step;
            const int i1_rest = (int)(INT64_C(1040) - step);
            const f32v v10 = f32_load_part(row0_at2 + i1, i1_rest);
            const f32v v13 = f32_nearly_over(v10, v7_at2, v11_at2, v12_at2);
            if (stream && 1040 % LANES == 0 && i0_at2 + 1 < end) p1_edge = v13; else f32_store_part(p1 + INT64_C(1040)*i0_at2 + i1, v13, i1_rest);
          }
        }
      } else {
        if (has0) {
          {
            int64_t i2 = 0;
            for (; i2 + 4*LANES <= INT64_C(1040); i2 += 4*LANES) {
              {
                const f32v v1 = f32_load(p0 + i2 + INT64_C(1040)*i0_at0);
                a0_at0 = f32_above(v1, a0_at0);
              }
              {
                const int64_t i2_1 = i2 + 1*LANES;
                const f32v v1 = f32_load(p0 + i2_1 + INT64_C(1040)*i0_at0);
                a0_1_at0 = f32_above(v1, a0_1_at0);
              }
              {
                const int64_t i2_2 = i2 + 2*LANES;
                const f32v v1 = f32_load(p0 + i2_2 + INT64_C(1040)*i0_at0);
                a0_2_at0 = f32_above(v1, a0_2_at0);
              }
              {
                const int64_t i2_3 = i2 + 3*LANES;
                const f32v v1 = f32_load(p0 + i2_3 + INT64_C(1040)*i0_at0);
                a0_3_at0 = f32_above(v1, a0_3_at0);
              }
            }
            for (; i2 + LANES <= INT64_C(1040); i2 += LANES) {
              const f32v v1 = f32_load(p0 + i2 + INT64_C(1040)*i0_at0);
              a0_at0 = f32_above(v1, a0_at0);
            }
            if (i2 < INT64_C(1040)) {
              const int i2_rest = (int)(INT64_C(1040) - i2);
              const f32v v1 = f32_load_part(p0 + i2 + INT64_C(1040)*i0_at0, i2_rest);
              a0_at0 = f32_above(f32_select(lanes_below(i2_rest), v1, SPLAT(f32v, -__builtin_inff())), a0_at0);
            }
          }
        }
        if (has1) {
          {
            int64_t i3 = 0;
            for (; i3 + 4*LANES <= INT64_C(1040); i3 += 4*LANES) {
              {
                fetch_of(0, p0 + i3 + INT64_C(1040)*i0_at0 + INT64_C(1040));
                const f32v v4 = f32_load(p0 + i3 + INT64_C(1040)*i0_at1);
                const f32v v5 = (v4 - v2_at1);
                const f32v v6 = f32_exp_of_deficit(v5);
                f32_store(row0_at1 + i3, v6);
                a3_at1 = (a3_at1 + v6);
              }
              {
                const int64_t i3_1 = i3 + 1*LANES;
                fetch_of(1, p0 + i3_1 + INT64_C(1040)*i0_at0 + INT64_C(1040));
                const f32v v4 = f32_load(p0 + i3_1 + INT64_C(1040)*i0_at1);
                const f32v v5 = (v4 - v2_at1);
                const f32v v6 = f32_exp_of_deficit(v5);
                f32_store(row0_at1 + i3_1, v6);
                a3_1_at1 = (a3_1_at1 + v6);
              }
              {
                const int64_t i3_2 = i3 + 2*LANES;
                fetch_of(2, p0 + i3_2 + INT64_C(1040)*i0_at0 + INT64_C(1040));
                const f32v v4 = f32_load(p0 + i3_2 + INT64_C(1040)*i0_at1);
                const f32v v5 = (v4 - v2_at1);
                const f32v v6 = f32_exp_of_deficit(v5);
                f32_store(row0_at1 + i3_2, v6);
                a3_2_at1 = (a3_2_at1 + v6);
              }
              {
                const int64_t i3_3 = i3 + 3*LANES;
                fetch_of(3, p0 + i3_3 + INT64_C(1040)*i0_at0 + INT64_C(1040));
                const f32v v4 = f32_load(p0 + i3_3 + INT64_C(1040)*i0_at1);
                const f32v v5 = (v4 - v2_at1);
                const f32v v6 = f32_exp_of_deficit(v5);
                f32_store(row0_at1 + i3_3, v6);
                a3_3_at1 = (a3_3_at1 + v6);
              }
            }
            for (; i3 + LANES <= INT64_C(1040); i3 += LANES) {
              fetch(p0 + i3 + INT64_C(1040)*i0_at0 + INT64_C(1040));
              const f32v v4 = f32_load(p0 + i3 + INT64_C(1040)*i0_at1);
              const f32v v5 = (v4 - v2_at1);
              const f32v v6 = f32_exp_of_deficit(v5);
              f32_store(row0_at1 + i3, v6);
              a3_at1 = (a3_at1 + v6);
            }
            if (i3 < INT64_C(1040)) {
              const int i3_rest = (int)(INT64_C(1040) - i3);
              const f32v v4 = f32_load_part(p0 + i3 + INT64_C(1040)*i0_at1, i3_rest);
              const f32v v5 = (v4 - v2_at1);
              const f32v v6 = f32_exp_of_deficit(v5);
              f32_store_part(row0_at1 + i3, v6, i3_rest);
              a3_at1 = (a3_at1 + f32_select(lanes_below(i3_rest), v6, SPLAT(f32v, 0x0.0p+0f)));
            }
          }
        }
        if (has2) {
          {
            int64_t i1 = 0;
            const int i1_head = (int)least(stream ? (int64_t)((0 - (uintptr_t)(p1 + i1)) % least(LANES*4, 64)) / 4 : 0, INT64_C(1040) - i1);
            if (i1_head > 0) {
              const f32v v10 = f32_load_part(row0_at2 + i1, i1_head);
              const f32v v13 = f32_nearly_over(v10, v7_at2, v11_at2, v12_at2);
              if (stream && 1040 % LANES == 0 && i0_at2 > begin) f32_stream(p1 + INT64_C(1040)*i0_at2 + i1 + i1_head - LANES, f32_joined(p1_edge, v13, i1_head)); else f32_store_part(p1 + INT64_C(1040)*i0_at2 + i1, v13, i1_head);
              i1 += i1_head;
            }
            for (; i1 + LANES <= INT64_C(1040); i1 += LANES) {
              const f32v v10 = f32_load(row0_at2 + i1);
              const f32v v13 = f32_nearly_over(v10, v7_at2, v11_at2, v12_at2);
              if (stream) f32_stream(p1 + INT64_C(1040)*i0_at2 + i1, v13); else f32_store(p1 + INT64_C(1040)*i0_at2 + i1, v13);
            }
            if (i1 < INT64_C(1040)) {
              const int i1_rest = (int)(INT64_C(1040) - i1);
              const f32v v10 = f32_load_part(row0_at2 + i1, i1_rest);
              const f32v v13 = f32_nearly_over(v10, v7_at2, v11_at2, v12_at2);
              if (stream && 1040 % LANES == 0 && i0_at2 + 1 < end) p1_edge = v13; else f32_store_part(p1 + INT64_C(1040)*i0_at2 + i1, v13, i1_rest);
            }
          }
        }
      }
    }
  }
  #else
  for (int64_t i0 = begin; i0 < end; i0++) {
    f32v a0 = SPLAT(f32v, -__builtin_inff());
    f32v a0_1 = SPLAT(f32v, -__builtin_inff());
    f32v a0_2 = SPLAT(f32v, -__builtin_inff());
    f32v a0_3 = SPLAT(f32v, -__builtin_inff());
    {
      int64_t i2 = 0;
      for (; i2 + 4*LANES <= INT64_C(1040); i2 += 4*LANES) {
        {
          const f32v v1 = f32_load(p0 + i2 + INT64_C(1040)*i0);
          a0 = f32_above(v1, a0);
        }
        {
          const int64_t i2_1 = i2 + 1*LANES;
          const f32v v1 = f32_load(p0 + i2_1 + INT64_C(1040)*i0);
          a0_1 = f32_above(v1, a0_1);
        }
        {
          const int64_t i2_2 = i2 + 2*LANES;
          const f32v v1 = f32_load(p0 + i2_2 + INT64_C(1040)*i0);
          a0_2 = f32_above(v1, a0_2);
        }
        {
          const int64_t i2_3 = i2 + 3*LANES;
          const f32v v1 = f32_load(p0 + i2_3 + INT64_C(1040)*i0);
          a0_3 = f32_above(v1, a0_3);
        }
      }
      for (; i2 + LANES <= INT64_C(1040); i2 += LANES) {
        const f32v v1 = f32_load(p0 + i2 + INT64_C(1040)*i0);
        a0 = f32_above(v1, a0);
      }
      if (i2 < INT64_C(1040)) {
        const int i2_rest = (int)(INT64_C(1040) - i2);
        const f32v v1 = f32_load_part(p0 + i2 + INT64_C(1040)*i0, i2_rest);
        a0 = f32_above(f32_select(lanes_below(i2_rest), v1, SPLAT(f32v, -__builtin_inff())), a0);
      }
    }
    const f32v v2 = SPLAT(f32v, f32_max(f32_max_so_far(f32_max_so_far(f32_max_so_far(a0, a0_1), a0_2), a0_3)));
    f32v a3 = SPLAT(f32v, 0x0.0p+0f);
    f32v a3_1 = SPLAT(f32v, 0x0.0p+0f);
    f32v a3_2 = SPLAT(f32v, 0x0.0p+0f);
    f32v a3_3 = SPLAT(f32v, 0x0.0p+0f);
    {
      int64_t i3 = 0;
      for (; i3 + 4*LANES <= INT64_C(1040); i3 += 4*LANES) {
        {
          fetch_of(0, p0 + i3 + INT64_C(1040)*i0 + INT64_C(1040));
          const f32v v4 = f32_load(p0 + i3 + INT64_C(1040)*i0);
          const f32v v5 = (v4 - v2);
          const f32v v6 = f32_exp_of_deficit(v5);
          f32_store(row0 + i3, v6);
          a3 = (a3 + v6);
        }
        {
          const int64_t i3_1 = i3 + 1*LANES;
          fetch_of(1, p0 + i3_1 + INT64_C(1040)*i0 + INT64_C(1040));
          const f32v v4 = f32_load(p0 + i3_1 + INT64_C(1040)*i0);
          const f32v v5 = (v4 - v2);
          const f32v v6 = f32_exp_of_deficit(v5);
          f32_store(row0 + i3_1, v6);
          a3_1 = (a3_1 + v6);
        }
        {
          const int64_t i3_2 = i3 + 2*LANES;
          fetch_of(2, p0 + i3_2 + INT64_C(1040)*i0 + INT64_C(1040));
          const f32v v4 = f32_load(p0 + i3_2 + INT64_C(1040)*i0);
          const f32v v5 = (v4 - v2);
          const f32v v6 = f32_exp_of_deficit(v5);
          f32_store(row0 + i3_2, v6);
          a3_2 = (a3_2 + v6);
        }
        {
          const int64_t i3_3 = i3 + 3*LANES;
          fetch_of(3, p0 + i3_3 + INT64_C(1040)*i0 + INT64_C(1040));
          const f32v v4 = f32_load(p0 + i3_3 + INT64_C(1040)*i0);
          const f32v v5 = (v4 - v2);
          const f32v v6 = f32_exp_of_deficit(v5);
          f32_store(row0 + i3_3, v6);
          a3_3 = (a3_3 + v6);
        }
      }
      for (; i3 + LANES <= INT64_C(1040); i3 += LANES) {
        fetch(p0 + i3 + INT64_C(1040)*i0 + INT64_C(1040));
        const f32v v4 = f32_load(p0 + i3 + INT64_C(1040)*i0);
        const f32v v5 = (v4 - v2);
        const f32v v6 = f32_exp_of_deficit(v5);
        f32_store(row0 + i3, v6);
        a3 = (a3 + v6);
      }
      if (i3 < INT64_C(1040)) {
        const int i3_rest = (int)(INT64_C(1040) - i3);
        const f32v v4 = f32_load_part(p0 + i3 + INT64_C(1040)*i0, i3_rest);
        const f32v v5 = (v4 - v2);
        const f32v v6 = f32_exp_of_deficit(v5);
        f32_store_part(row0 + i3, v6, i3_rest);
        a3 = (a3 + f32_select(lanes_below(i3_rest), v6, SPLAT(f32v, 0x0.0p+0f)));
      }
    }
    const f32v v7 = SPLAT(f32v, (float)f64_sum((((f64_from_f32(a3) + f64_from_f32(a3_1)) + f64_from_f32(a3_2)) + f64_from_f32(a3_3))));
    const f32v v11 = f32_rec(v7);
    const int v12 = f32_is_far(v11);
    {
      int64_t i1 = 0;
      const int i1_head = (int)least(stream ? (int64_t)((0 - (uintptr_t)(p1 + i1)) % least(LANES*4, 64)) / 4 : 0, INT64_C(1040) - i1);
      if (i1_head > 0) {
        const f32v v10 = f32_load_part(row0 + i1, i1_head);
        const f32v v13 = f32_nearly_over(v10, v7, v11, v12);
        if (stream && 1040 % LANES == 0 && i0 > begin) f32_stream(p1 + INT64_C(1040)*i0 + i1 + i1_head - LANES, f32_joined(p1_edge, v13, i1_head)); else f32_store_part(p1 + INT64_C(1040)*i0 + i1, v13, i1_head);
        i1 += i1_head;
      }
      for (; i1 + LANES <= INT64_C(1040); i1 += LANES) {
        const f32v v10 = f32_load(row0 + i1);
        const f32v v13 = f32_nearly_over(v10, v7, v11, v12);
        if (stream) f32_stream(p1 + INT64_C(1040)*i0 + i1, v13); else f32_store(p1 + INT64_C(1040)*i0 + i1, v13);
      }
      if (i1 < INT64_C(1040)) {
        const int i1_rest = (int)(INT64_C(1040) - i1);
        const f32v v10 = f32_load_part(row0 + i1, i1_rest);
        const f32v v13 = f32_nearly_over(v10, v7, v11, v12);
        if (stream && 1040 % LANES == 0 && i0 + 1 < end) p1_edge = v13; else f32_store_part(p1 + INT64_C(1040)*i0 + i1, v13, i1_rest);
      }
    }
  }
  #endif
  if (stream) {
    stream_fence();
  }
}
static void k_softmax_staggered_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_softmax_staggered_nest0(nest->b, nest->s, begin, end, nest->stream);
}
int k_softmax_staggered(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(66560) + INT64_C(66560) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_softmax_staggered_nest0_part, .b = b, .s = s, .steps = INT64_C(64), .grain = 1, .portions = 0, .stream = INT64_C(66560)*4 >= 1 && INT64_C(1040)*4 % 64 == 0 && (uintptr_t)b[1] % 64 == (uintptr_t)b[1] % 64 && (uintptr_t)b[1] % 4 == 0}, threads); else k_softmax_staggered_nest0(b, s, 0, INT64_C(64), INT64_C(66560)*4 >= 1 && INT64_C(1040)*4 % 64 == 0 && (uintptr_t)b[1] % 64 == (uintptr_t)b[1] % 64 && (uintptr_t)b[1] % 4 == 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
