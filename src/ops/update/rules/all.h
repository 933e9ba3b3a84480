#pragma once
// The files of the rules that ops/update/rules.inc lists.

#include "ops/update/rules/adagrad.h"
#include "ops/update/rules/adam.h"
#include "ops/update/rules/lion.h"
#include "ops/update/rules/rmsprop.h"
#include "ops/update/rules/sgd.h"
