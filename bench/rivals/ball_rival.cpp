// CGAL's smallest enclosing sphere of a file (uint64 n, d, then n*d doubles): prints the seconds of the
// best of three solutions, without reading, and the radius.
#include <CGAL/Cartesian_d.h>
#include <CGAL/Min_sphere_of_points_d_traits_d.h>
#include <CGAL/Min_sphere_of_spheres_d.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

template <int D> static void solve(const std::vector<double> &x, size_t n) {
  typedef CGAL::Cartesian_d<double> Kernel;
  typedef CGAL::Min_sphere_of_points_d_traits_d<Kernel, double, D> Traits;
  std::vector<Kernel::Point_d> points;
  points.reserve(n);
  for (size_t i = 0; i < n; i++)
    points.push_back(Kernel::Point_d(D, x.begin() + i * D, x.begin() + (i + 1) * D));
  double best = 1e300, radius = 0;
  for (int round = 0; round < 3; round++) {
    CGAL::Min_sphere_of_spheres_d<Traits> sphere(points.begin(), points.end());
    auto start = std::chrono::steady_clock::now();
    radius = CGAL::to_double(sphere.radius());
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (seconds < best) best = seconds;
  }
  std::printf("%.9g %.17g\n", best, radius);
}

int main(int, char **argv) {
  std::FILE *file = std::fopen(argv[1], "rb");
  std::uint64_t shape[2];
  if (file == nullptr || std::fread(shape, sizeof shape, 1, file) != 1) return 1;
  std::vector<double> x(shape[0] * shape[1]);
  if (std::fread(x.data(), sizeof(double), x.size(), file) != x.size()) return 1;
  std::fclose(file);
  if (shape[1] == 3) solve<3>(x, shape[0]);
  if (shape[1] == 10) solve<10>(x, shape[0]);
  return 0;
}
