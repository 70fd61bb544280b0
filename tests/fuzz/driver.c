/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Runs a fuzz target on mutated examples, the same ones for the same seed.
 *
 *   fuzz-NAME [--seed N] [--runs N] [--seconds N]   until the first of both; 20000 runs by default
 *   fuzz-NAME --write-corpus DIRECTORY              the examples as files, for libFuzzer
 *   fuzz-NAME FILE...                               these inputs
 *
 * An input that ends the process lies in the file fuzz-NAME.crash of the working directory.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"
#include "random.h"

#define MOST_EXAMPLES 256
#define MOST_CHANGES  8
#define HANGS_SECONDS 60 /* for one input, also where sanitizers slow it down */

typedef struct {
  uint8_t data[FUZZ_LARGEST_INPUT];
  size_t size;
} Input;

static Input examples[MOST_EXAMPLES];
static int example_count;

/* What the signal handler tells of. */
static Input current;
static unsigned long long current_run;
static const char *program;

static void save_current(int signal_number)
{
  char text[320];
  const int length =
      snprintf(text, sizeof text, "\n%s: run %llu, signal %d: the input lies in %s.crash\n",
               program, current_run, signal_number, program);
  char path[256];
  int file;

  snprintf(path, sizeof path, "%s.crash", program);
  file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && write(file, current.data, current.size) == (ssize_t)current.size)
    (void)!write(STDERR_FILENO, text, (size_t)length);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

/* Mutations */

static void insert(Input *input, size_t at, const uint8_t *bytes, size_t count)
{
  if (input->size + count > FUZZ_LARGEST_INPUT)
    return;
  memmove(input->data + at + count, input->data + at, input->size - at);
  memmove(input->data + at, bytes, count);
  input->size += count;
}

static void erase(Input *input, size_t at, size_t count)
{
  memmove(input->data + at, input->data + at + count, input->size - at - count);
  input->size -= count;
}

static void insert_word(Input *input, CfRandom *random, size_t at)
{
  int words = 0;
  const char *word;

  while (fuzz_words[words])
    words++;
  word = fuzz_words[cf_random_below(random, words)];
  insert(input, at, (const uint8_t *)word, strlen(word));
}

/* The tail of another example, or a piece of this input once more. */
static void splice(Input *input, CfRandom *random, size_t at)
{
  const Input *other = &examples[cf_random_below(random, example_count)];
  uint8_t piece[FUZZ_LARGEST_INPUT];
  const Input *from = cf_random_below(random, 2) ? other : input;
  const size_t start = (size_t)cf_random_below(random, (int)from->size + 1);
  const size_t count = (size_t)cf_random_below(random, (int)(from->size - start) + 1);

  memcpy(piece, from->data + start, count);
  if (from == other && cf_random_below(random, 2))
    input->size = at;
  insert(input, at, piece, count);
}

static void change(Input *input, CfRandom *random)
{
  const size_t at = (size_t)cf_random_below(random, (int)input->size + 1);
  const size_t left = input->size - at;
  const uint8_t byte = (uint8_t)cf_random(random);

  switch (cf_random_below(random, 7)) {
  case 0:
    if (left > 0)
      input->data[at] ^= (uint8_t)(1u << cf_random_below(random, 8));
    break;
  case 1:
    if (left > 0)
      input->data[at] = cf_random_below(random, 2) ? byte : (uint8_t)('0' + byte % 10);
    break;
  case 2:
    insert(input, at, &byte, 1);
    break;
  case 3:
    insert_word(input, random, at);
    break;
  case 4:
    erase(input, at, (size_t)cf_random_below(random, left < 16 ? (int)left + 1 : 16));
    break;
  case 5:
    splice(input, random, at);
    break;
  default:
    if (cf_random_below(random, 8) == 0)
      input->size = at;
    break;
  }
}

static void make_input(CfRandom *random)
{
  current = examples[cf_random_below(random, example_count)];
  for (int changes = cf_random_below(random, MOST_CHANGES + 1); changes > 0; changes--)
    change(&current, random);
}

/* Runs */

/* In memory of its own, so that a sanitizer sees every byte that is read beyond its end. */
static void run_current(void)
{
  uint8_t *copy = malloc(current.size ? current.size : 1);

  if (!copy)
    abort();
  memcpy(copy, current.data, current.size);
  alarm(HANGS_SECONDS);
  LLVMFuzzerTestOneInput(copy, current.size);
  alarm(0);
  free(copy);
}

static int run_random(uint64_t seed, unsigned long long runs, double seconds)
{
  CfRandom random = {seed};
  const time_t start = time(NULL);

  for (current_run = 0; current_run < runs; current_run++) {
    if (current_run < (unsigned long long)example_count)
      current = examples[current_run];
    else
      make_input(&random);
    run_current();
    if (seconds > 0.0 && current_run % 256 == 0 && difftime(time(NULL), start) >= seconds)
      break;
  }
  printf("%s: seed %llu, %llu runs in %.0f s, nothing found\n", program, (unsigned long long)seed,
         current_run, difftime(time(NULL), start));
  return 0;
}

static bool write_corpus(const char *directory)
{
  bool good = true;

  for (int i = 0; good && i < example_count; i++) {
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/example-%03d", directory, i);
    file = fopen(path, "wb");
    good = file && fwrite(examples[i].data, 1, examples[i].size, file) == examples[i].size;
    if (file && fclose(file) != 0)
      good = false;
    if (!good)
      fprintf(stderr, "%s: %s cannot be written\n", program, path);
  }
  return good;
}

static bool run_file(const char *path)
{
  FILE *file = fopen(path, "rb");

  if (!file) {
    fprintf(stderr, "%s: %s cannot be read\n", program, path);
    return false;
  }
  current.size = fread(current.data, 1, sizeof current.data, file);
  fclose(file);
  run_current();
  printf("%s: %s: nothing found\n", program, path);
  return true;
}

static void prepare(const char *path)
{
  static const int signals[] = {SIGABRT, SIGALRM, SIGSEGV, SIGBUS, SIGFPE};

  program = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    signal(signals[i], save_current);
  while (example_count < MOST_EXAMPLES &&
         (examples[example_count].size = fuzz_example(example_count, examples[example_count].data)))
    example_count++;
}

int main(int argc, char **argv)
{
  uint64_t seed = 1;
  unsigned long long runs = 20000;
  double seconds = 0.0;
  bool good = true;

  prepare(argv[0]);
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : "";

    if (argv[i][0] != '-') {
      good = run_file(argv[i]) && good;
      runs = 0;
      continue;
    }
    if (strcmp(argv[i], "--write-corpus") == 0)
      return write_corpus(value) ? 0 : 1;
    if (strcmp(argv[i], "--seed") == 0)
      seed = strtoull(value, NULL, 10);
    else if (strcmp(argv[i], "--runs") == 0)
      runs = strtoull(value, NULL, 10);
    else if (strcmp(argv[i], "--seconds") == 0)
      seconds = strtod(value, NULL);
    else {
      fprintf(stderr,
              "usage: %s [--seed N] [--runs N] [--seconds N] | --write-corpus DIRECTORY | "
              "FILE...\n",
              program);
      return 2;
    }
    i++;
  }
  return runs > 0 ? run_random(seed, runs, seconds) : good ? 0 : 1;
}
