// The enclosing ball against CGAL's exact one (Min_sphere_of_spheres_d over doubles): relative radius
// error over sets random and degenerate, d <= 10. Prints TAP.
#include <CGAL/Cartesian_d.h>
#include <CGAL/Min_sphere_of_points_d_traits_d.h>
#include <CGAL/Min_sphere_of_spheres_d.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "capball/ball.h"
extern "C" {
#include "support/point_sets.h"
}

enum { SETS = 1000, MOST_D = 10 };
typedef CGAL::Cartesian_d<double> Kernel;
typedef CGAL::Min_sphere_of_points_d_traits_d<Kernel, double, MOST_D> Traits;
typedef CGAL::Min_sphere_of_spheres_d<Traits> Sphere;

// CGAL squares its coordinates, so that it gets them at unit size.
static double radius_by_cgal(const point_set &set, double unit) {
  std::vector<Kernel::Point_d> points;
  std::vector<double> row(MOST_D, 0.0); // the dimension is a constant of the type
  for (size_t i = 0; i < set.n; i++) {
    for (size_t j = 0; j < set.d; j++) row[j] = set.x[i * set.d + j] / unit;
    points.push_back(Kernel::Point_d(MOST_D, row.begin(), row.end()));
  }
  Sphere sphere(points.begin(), points.end());
  return CGAL::to_double(sphere.radius()) * unit;
}

static double size_of(const point_set &set) {
  double size = 0;
  for (size_t i = 0; i < set.n * set.d; i++) size = std::fmax(size, std::fabs(set.x[i]));
  return size > 0 ? std::ldexp(1, std::ilogb(size)) : 1;
}

int main() {

  double worst = 0, center[MOST_D];
  const char *worst_name = "none";
  int beyond = 0;
  for (unsigned i = 0; i < SETS; i++) {
    point_set set = point_set_make(50000 + i, MOST_D);
    cpb_ball_report report = {.size = sizeof report};
    cpb_ball_out out = {center, nullptr, nullptr};
    cpb_error error;
    cpb_view rows = cpb_rows(set.x, CPB_F64, set.n, set.d);
    if (cpb_enclosing_ball(rows, nullptr, &out, &report, nullptr, &error) != CPB_OK) {
      std::printf("1..1\nnot ok 1 - %s: %s\n", set.name, error.text);
      return 1;
    }
    double unit = size_of(set), theirs = radius_by_cgal(set, unit);
    double wrong = std::fabs(report.radius - theirs) / std::fmax(theirs, 1e-300);
    if (theirs == 0) wrong = report.radius;
    // A certificate decides when the two differ: our lower bound above CGAL's radius is impossible, and
    // our radius above it by more than our gap means that CGAL's ball does not hold its points.
    if (wrong > 1e-9) {
      std::printf("# %s, n = %zu, d = %zu: radius %.17g in [%.17g, ..], CGAL %.17g\n", set.name, set.n, set.d,
                  report.radius, report.lower_bound, theirs);
      beyond++;
    }
    if (wrong > worst) {
      worst = wrong;
      worst_name = set.name;
    }
    std::free(set.x);
  }
  std::printf("1..1\n%s 1 - %d sets, worst relative difference of the radius %.2g (%s)\n",
              beyond == 0 ? "ok" : "not ok", SETS, worst, worst_name);
  return beyond != 0;
}
