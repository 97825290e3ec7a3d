/* Layer norm over the channels of a depthwise convolution, in float32.
 *
 * The image is (batch, channels, height, width) or (batch, height, width, channels), the result
 * (batch, height, width, channels). The convolution has a square kernel of odd size, stride 1, and
 * padding that keeps the size.
 *
 * A block of LANES channels is copied to a padded image with these channels innermost. Each lane of
 * a vector is a channel; the sums of DEPTHWISE_BLOCK adjacent pixels stay in registers.
 *
 * The text that includes this header defines DEPTHWISE_SIZE, the size of the kernel. */
#ifndef MS_FUSION_DEPTHWISE_NORM_H
#define MS_FUSION_DEPTHWISE_NORM_H

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "lane_transpose.h"
#include "thread_pool.h"
#include "vector_math.h"

enum { DEPTHWISE_BORDER = DEPTHWISE_SIZE / 2, DEPTHWISE_BLOCK = LANES == 16 ? 14 : 7, DEPTHWISE_NARROW = 7 };
enum { DEPTHWISE_TASK = 256 }; /* pixels of a task of the norm */

struct depthwise_norm {
  const float *x;
  const float *weight; /* (size, size, channels), where the channels are filled up with 0 to a multiple of 16 */
  const float *bias, *scale, *shift; /* vectors with an element for each channel */
  float *y;
  float *padded; /* one padded image for each part */
  int64_t batch, channels, height, width, parts;
  float epsilon;
  int is_channels_last; /* whether x is (batch, height, width, channels) */
};

#define INLINED_STEP static inline __attribute__((always_inline))

static inline int64_t depthwise_blocks(const struct depthwise_norm *d) { return (d->channels + LANES - 1) / LANES; }

static inline int64_t packed_channels(int64_t channels) { return (channels + 15) / 16 * 16; }

/* Pixels of a row of the padded image. */
static inline int64_t padded_width(const struct depthwise_norm *d) {
  const int64_t width = d->width < DEPTHWISE_NARROW ? DEPTHWISE_NARROW : d->width;
  return width + 2 * DEPTHWISE_BORDER;
}

static inline int64_t padded_elements(const struct depthwise_norm *d) {
  return (d->height + 2 * DEPTHWISE_BORDER) * padded_width(d) * LANES;
}

/* Copies `channels` channels into the inside of a padded image; x has the channels last. The lanes
 * behind them keep what they are, since their sums are not stored. */
static void pad_last_channels(float *padded, const float *x, const struct depthwise_norm *d, int64_t channels) {
  const int64_t row = padded_width(d) * LANES;
  float *start = padded + DEPTHWISE_BORDER * (row + LANES);
  for (int64_t line = 0; line < d->height; line++, start += row)
    for (int64_t column = 0; column < d->width; column++, x += d->channels) {
      if (channels == LANES) f32_store(start + column * LANES, f32_load(x));
      else memcpy(start + column * LANES, x, sizeof(float) * (size_t)channels);
    }
}

/* The same for x with the channels first. */
static void pad_channels(float *padded, const float *x, const struct depthwise_norm *d, int64_t channels) {
  const int64_t pixels = d->height * d->width, row = padded_width(d) * LANES;
  float *start = padded + DEPTHWISE_BORDER * (row + LANES);
  int64_t pixel = 0, column = 0;
  for (; pixel + LANES <= pixels; pixel += LANES) {
    f32v lanes[LANES];
#pragma GCC unroll 16
    for (int lane = 0; lane < LANES; lane++)
      lanes[lane] = lane < channels ? f32_load(x + lane * pixels + pixel) : f32_splat(0);
    transpose_lanes(lanes);
#pragma GCC unroll 16
    for (int lane = 0; lane < LANES; lane++) {
      f32_store(start + column * LANES, lanes[lane]);
      if (++column == d->width) column = 0, start += row;
    }
  }
  for (; pixel < pixels; pixel++) {
    for (int lane = 0; lane < LANES; lane++) start[column * LANES + lane] = lane < channels ? x[lane * pixels + pixel] : 0;
    if (++column == d->width) column = 0, start += row;
  }
}

/* sums[pixel] = bias + Σ over the kernel for `count` adjacent pixels of a row. */
INLINED_STEP void convolve_block(f32v *sums, const float *from, int64_t row, const float *weight, int64_t distance, f32v bias,
                                 const int count) {
#pragma GCC unroll 14
  for (int pixel = 0; pixel < count; pixel++) sums[pixel] = bias;
  for (int above = 0; above < DEPTHWISE_SIZE; above++) {
    f32v weights[DEPTHWISE_SIZE];
#pragma GCC unroll 7
    for (int side = 0; side < DEPTHWISE_SIZE; side++)
      weights[side] = f32_load(weight + (above * DEPTHWISE_SIZE + side) * distance);
#pragma GCC unroll 20
    for (int place = 0; place < count + DEPTHWISE_SIZE - 1; place++) {
      const f32v pixel = f32_load(from + above * row + place * LANES);
#pragma GCC unroll 7
      for (int side = 0; side < DEPTHWISE_SIZE; side++)
        if (place - side >= 0 && place - side < count) sums[place - side] = f32_fma(pixel, weights[side], sums[place - side]);
    }
  }
}

/* Convolves one row of a block of channels: y[pixel][channel]. */
INLINED_STEP void convolve_row(const struct depthwise_norm *d, float *y, const float *from, const float *weight,
                               f32v bias, int64_t channels, const int count) {
  const int64_t row = padded_width(d) * LANES;
  for (int64_t first = 0; first < d->width; first += count) {
    /* the last block overlaps the one before it */
    const int64_t start = first + count <= d->width || d->width < count ? first : d->width - count;
    const int64_t pixels = d->width - start < count ? d->width - start : count;
    f32v sums[DEPTHWISE_BLOCK];
    convolve_block(sums, from + start * LANES, row, weight, packed_channels(d->channels), bias, count);
#pragma GCC unroll 14
    for (int pixel = 0; pixel < count; pixel++) {
      float *to = y + (start + pixel) * d->channels;
      if (pixel >= pixels) break;
      if (channels == LANES) f32_store(to, sums[pixel]);
      else memcpy(to, &sums[pixel], sizeof(float) * (size_t)channels);
    }
  }
}

static void depthwise_task(void *work, int number, int count) {
  const struct depthwise_norm *d = work;
  const int64_t blocks = depthwise_blocks(d), all = d->batch * blocks, pixels = d->height * d->width;
  float *padded = d->padded + number * padded_elements(d);
  memset(padded, 0, sizeof(float) * (size_t)padded_elements(d));
  for (int64_t one = all * number / count; one < all * (number + 1) / count; one++) {
    const int64_t image = one / blocks, first = one % blocks * LANES, left = d->channels - first;
    const int64_t channels = left < LANES ? left : LANES;
    const float *weight = d->weight + first;
    float bias[LANES] = {0};
    memcpy(bias, d->bias + first, sizeof(float) * (size_t)channels);
    if (d->is_channels_last) pad_last_channels(padded, d->x + image * pixels * d->channels + first, d, channels);
    else pad_channels(padded, d->x + (image * d->channels + first) * pixels, d, channels);
    for (int64_t row = 0; row < d->height; row++) {
      float *y = d->y + (image * pixels + row * d->width) * d->channels + first;
      const float *from = padded + row * padded_width(d) * LANES;
      if (d->width >= DEPTHWISE_BLOCK) convolve_row(d, y, from, weight, f32_load(bias), channels, DEPTHWISE_BLOCK);
      else convolve_row(d, y, from, weight, f32_load(bias), channels, DEPTHWISE_NARROW);
    }
  }
}

/* row = (row - mean) / √(variance + epsilon) · scale + shift, for rows shorter than a vector */
static void normalize_short_row(float *row, const struct depthwise_norm *d) {
  float mean = 0, variance = 0;
  for (int64_t i = 0; i < d->channels; i++) mean += row[i] / (float)d->channels;
  for (int64_t i = 0; i < d->channels; i++) variance += (row[i] - mean) * (row[i] - mean) / (float)d->channels;
  const float factor = 1 / sqrtf(variance + d->epsilon);
  for (int64_t i = 0; i < d->channels; i++) row[i] = (row[i] - mean) * factor * d->scale[i] + d->shift[i];
}

/* The same for longer rows. The last vector overlaps the one before it; `counted` is 1 in its lanes
 * that no other vector holds, else 0. */
INLINED_STEP void normalize_row(float *row, const struct depthwise_norm *d, f32v counted) {
  const int64_t last = d->channels - LANES;
  const f32v end = f32_load(row + last);
  f32v sum = end * counted, squares = f32_splat(0);
  for (int64_t i = 0; i < last; i += LANES) sum += f32_load(row + i);
  const f32v mean = f32_splat(f32_sum(sum) / (float)d->channels), rest = (end - mean) * counted;
  for (int64_t i = 0; i < last; i += LANES) {
    const f32v distance = f32_load(row + i) - mean;
    squares = f32_fma(distance, distance, squares);
  }
  const float variance = f32_sum(f32_fma(rest, rest, squares)) / (float)d->channels;
  const f32v factor = f32_splat(1 / sqrtf(variance + d->epsilon));
  for (int64_t i = 0; i < last; i += LANES)
    f32_store(row + i, f32_fma((f32_load(row + i) - mean) * factor, f32_load(d->scale + i), f32_load(d->shift + i)));
  f32_store(row + last, f32_fma((end - mean) * factor, f32_load(d->scale + last), f32_load(d->shift + last)));
}

static void norm_task(void *work, int number, int count) {
  const struct depthwise_norm *d = work;
  const int64_t pixels = d->batch * d->height * d->width, first = (int64_t)number * DEPTHWISE_TASK;
  (void)count;
  float counted[LANES];
  for (int lane = 0; lane < LANES; lane++)
    counted[lane] = lane >= (LANES - d->channels % LANES) % LANES;
  for (int64_t pixel = first; pixel < pixels && pixel < first + DEPTHWISE_TASK; pixel++) {
    float *row = d->y + pixel * d->channels;
    if (d->channels < LANES) normalize_short_row(row, d);
    else normalize_row(row, d, f32_load(counted));
  }
}

/* Returns 0, or 1 when out of memory. */
static inline int convolve_and_normalize(struct depthwise_norm *d, int64_t threads) {
  d->parts = parts_of(d->batch * depthwise_blocks(d), threads);
  const size_t bytes = sizeof(float) * (size_t)(d->parts * padded_elements(d));
  d->padded = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!d->padded) return 1;
  share(depthwise_task, d, threads, d->parts);
  free(d->padded);
  share(norm_task, d, threads, (d->batch * d->height * d->width + DEPTHWISE_TASK - 1) / DEPTHWISE_TASK);
  return 0;
}

#endif
