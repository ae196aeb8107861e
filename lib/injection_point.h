/*
 * injection_point: named places at which a test has the program fail.
 *
 * In the program that is built for tests of faults, order-sweep-injection, the
 * environment says where, what, and at which passing of the point (the first,
 * unless told):
 *
 *     ORDER_SWEEP_INJECT=POINT:ACTION[:PASSING]
 *
 *     exit        the program ends with exit code 3
 *     kill        it is killed
 *     stop        it is stopped, until somebody continues it
 *     disconnect  its connections are shut down
 *
 * In every other program a point is nothing at all.
 */
#ifndef OSW_INJECTION_POINT_H
#define OSW_INJECTION_POINT_H

/* Do what the environment asks for at this point, if it does. */
void osw_injection_point(const char *name);

#ifdef OSW_INJECTION_POINTS
#define OSW_INJECTION_POINT(name) osw_injection_point(name)
#else
#define OSW_INJECTION_POINT(name) ((void)0)
#endif

#endif
